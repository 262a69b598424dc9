package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/cli/specfile"
)

func (a *app) sql() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "sql 'STATEMENT…' | sql -f FILE", Short: "Execute SQL: CREATE, DROP, SHOW, DESCRIBE, EXPLAIN", Args: cobra.MaximumNArgs(1),
		Long: "Executes statements, separated by semicolons, one after the other; the first that fails ends the run.",
		Example: `  pondage sql 'SHOW STREAMS'
  pondage sql "CREATE STREAM delayed WITH (start = 'earliest') AS SELECT id, delay FROM flights WHERE delay > 60"
  pondage sql 'EXPLAIN SELECT tbname, count(*) FROM flights PARTITION BY tbname INTERVAL(1h)'
  pondage sql -f streams.sql`,
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with statements, - for standard input")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		statements, err := a.statements(file, args)
		if err != nil {
			return err
		}
		for _, s := range statements {
			if err := a.execute(cmd, c, f, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// statements are those of the argument or the file, whichever is given.
func (a *app) statements(file string, args []string) ([]specfile.Statement, error) {
	if (file == "") == (len(args) == 0) {
		return nil, usage("give either a statement or -f FILE")
	}
	text := strings.Join(args, " ")
	if file != "" {
		content, err := specfile.Text(file, a.In)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	statements := specfile.Statements(file, text)
	if len(statements) == 0 {
		return nil, usage("there is no statement")
	}
	return statements, nil
}

func (a *app) execute(cmd *cobra.Command, c *client.Client, f render.Format, s specfile.Statement) error {
	result, raw, err := client.Decode[api.SQLResult](c.ExecuteSQL(cmd.Context(), &api.ExecuteSQLParams{}, api.SQLRequest{Statement: s.Text}))
	var answered *client.Error
	if errors.As(err, &answered) && answered.Cause == nil {
		return s.Blame(answered.Doc)
	}
	if err != nil {
		return err
	}
	return a.show(f, raw, func() error { return a.resultOf(result) })
}

// resultOf shows what a statement did, or the rows that it answers with.
func (a *app) resultOf(r api.SQLResult) error {
	if len(r.Columns) == 0 {
		done := map[string]string{"create": applied, "drop": "being dropped"}[r.Action]
		return a.report(render.Table, outcome{Kind: r.Object, Name: orNothing(r.Name), Outcome: done})
	}
	if r.Action == "explain" { // a plan is text, not a table
		for _, row := range r.Rows {
			fmt.Fprintln(a.Out, render.Clean(orNothing(row[0])))
		}
		return nil
	}
	g := render.Grid{Columns: r.Columns}
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = orNothing(cell)
		}
		g.Add(cells...)
	}
	return a.grid(g)
}
