package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/decode"
)

// rowFormats are the forms of commands that answer rows.
var rowFormats = []render.Format{render.Table, render.NDJSON, render.CSV, render.JSON, render.YAML}

func (a *app) results() *cobra.Command {
	var filter, order string
	var limit int32
	cmd := &cobra.Command{
		Use: "results STREAM", Short: "Show the results of a stream", Args: cobra.ExactArgs(1),
		Long: `Shows all results, or those that --filter lets through, as they are streamed: any number of them. With -o ndjson and csv they
come as the worker writes them (docs: the form of a row); -o json is one object {"items":[…]}.`,
		Example: `  pondage results flights_1h
  pondage results flights_1h --filter "origin = 'LAX' AND count > 20" --order 'window_start desc' --limit 10
  pondage results flights_1h -o csv > flights_1h.csv`,
	}
	cmd.Flags().StringVar(&filter, "filter", "", "condition over the result columns, as in WHERE")
	cmd.Flags().StringVar(&order, "order", "", "columns, each with an optional asc or desc, separated by commas")
	cmd.Flags().Int32Var(&limit, "limit", 0, "most rows; 0 is all")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		params := &api.GetResultsParams{}
		if filter != "" {
			params.Filter = &filter
		}
		if order != "" {
			params.Order = &order
		}
		if limit != 0 {
			params.Limit = &limit
		}
		answer, err := client.Open(c.GetResults(cmd.Context(), args[0], params, accept(f)))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		return a.writeRows(f, answer.Body)
	}, rowFormats...)
}

// accept asks for rows in the form that the output is made from.
func accept(f render.Format) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "application/x-ndjson")
		if f == render.CSV {
			r.Header.Set("Accept", "text/csv")
		}
		return nil
	}
}

// writeRows writes rows as they come.
func (a *app) writeRows(f render.Format, body io.Reader) error {
	if f == render.NDJSON || f == render.CSV {
		_, err := io.Copy(a.Out, body)
		return cutOff(err)
	}
	w := newRowWriter(a, f)
	lines := decode.NewLines(body)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return w.end()
		}
		if err != nil {
			return cutOff(err)
		}
		if err := w.add(line); err != nil {
			return err
		}
	}
}

// cutOff explains an answer that ends before its end: what was shown is not all.
func cutOff(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the answer breaks off, what was shown is not all: %w", err)
}

// rowWriter writes rows in one of the forms that are made here.
type rowWriter struct {
	app   *app
	f     render.Format
	table *render.Rows
	out   *bufio.Writer
	rows  int
}

func newRowWriter(a *app, f render.Format) *rowWriter {
	out := bufio.NewWriter(a.Out)
	return &rowWriter{app: a, f: f, out: out, table: render.NewRows(out, a.Width)}
}

func (w *rowWriter) add(row []byte) error {
	w.rows++
	switch w.f {
	case render.Table:
		return w.table.Add(row)
	case render.YAML:
		fmt.Fprintln(w.out, "---") // a document a row
		return render.Value(w.out, render.YAML, row)
	}
	lead := ","
	if w.rows == 1 {
		lead = `{"items":[`
	}
	_, err := w.out.WriteString(lead + string(row))
	return err
}

// end writes what is held back.
func (w *rowWriter) end() error {
	switch w.f {
	case render.Table:
		if err := w.table.Flush(); err != nil {
			return err
		}
	case render.JSON:
		lead := ""
		if w.rows == 0 {
			lead = `{"items":[`
		}
		if _, err := w.out.WriteString(lead + "]}\n"); err != nil {
			return err
		}
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if w.rows == 0 && w.f == render.Table {
		fmt.Fprintln(w.app.Err, "no rows")
	}
	return nil
}

func (a *app) deadLetters() *cobra.Command {
	cmd := a.setAside("dead-letters SOURCE", "List the records of a source that were set aside, and why",
		"  pondage dead-letters flights\n  pondage dead-letters flights --limit 5 -o json",
		func(ctx context.Context, c *client.Client, name string) func(*int32, *string) (*http.Response, error) {
			return func(size *int32, cursor *string) (*http.Response, error) {
				return c.ListDeadLetters(ctx, name, &api.ListDeadLettersParams{Limit: size, Cursor: cursor})
			}
		})
	cmd.AddCommand(a.replay())
	return cmd
}

func (a *app) late() *cobra.Command {
	return a.setAside("late STREAM", "List the records that came too late for a stream",
		"  pondage late flights_1h",
		func(ctx context.Context, c *client.Client, name string) func(*int32, *string) (*http.Response, error) {
			return func(size *int32, cursor *string) (*http.Response, error) {
				return c.ListLateRecords(ctx, name, &api.ListLateRecordsParams{Limit: size, Cursor: cursor})
			}
		})
}

// listLimit is how much of a long list is shown where nothing is said.
const listLimit = 100

type pages func(ctx context.Context, c *client.Client, name string) func(*int32, *string) (*http.Response, error)

func (a *app) setAside(use, short, example string, list pages) *cobra.Command {
	limit := listLimit
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ExactArgs(1)}
	cmd.Flags().IntVar(&limit, "limit", limit, "most records; 0 is all")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		items, err := client.Pages(limit, list(cmd.Context(), c, args[0]))
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error { return a.asideTable(items) })
	})
}

// aside is a record that was set aside, as far as the table shows it.
type aside struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    string  `json:"offset"`
	Code      string  `json:"code"`
	Reason    string  `json:"reason"`
	Value     *string `json:"value"`
	Base64    string  `json:"value_base64"`
}

func (a *app) asideTable(items client.Items) error {
	records, err := client.As[aside](items)
	if err != nil {
		return err
	}
	g := render.Grid{Columns: []string{"record", "code", "reason", "value"}}
	for _, r := range records {
		value := "base64:" + r.Base64
		if r.Value != nil {
			value = *r.Value
		}
		g.Add(fmt.Sprintf("%s/%d/%s", r.Topic, r.Partition, r.Offset), r.Code, r.Reason, strings.TrimSpace(value))
	}
	return a.grid(g)
}
