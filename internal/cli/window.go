package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	worker "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) explainWindow() *cobra.Command {
	var at, table string
	cmd := &cobra.Command{
		Use: "explain-window NAME", Short: "Say why a window is not out yet", Args: cobra.ExactArgs(1),
		Long:    "Says what holds the watermark, partition by partition, and, with --time, what became of the windows of that event time.",
		Example: "  pondage stream explain-window flights_1h\n  pondage stream explain-window flights_1h --time 2001-01-01T05:00:00Z --table LAX",
	}
	cmd.Flags().StringVar(&at, "time", "", "event time (RFC 3339) whose windows are meant")
	cmd.Flags().StringVar(&table, "table", "", "only what concerns this table")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		var params api.ExplainWindowParams
		if at != "" {
			t, err := time.Parse(time.RFC3339, at)
			if err != nil {
				return usage("--time %s: want RFC 3339 with a zone, 2001-01-01T05:00:00Z", at)
			}
			params.Time = &t
		}
		if table != "" {
			params.Table = &table
		}
		e, raw, err := client.Decode[worker.WindowExplanation](c.ExplainWindow(cmd.Context(), args[0], &params))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error { return a.explanationPage(e) })
	})
}

func (a *app) explanationPage(e worker.WindowExplanation) error {
	g := render.Grid{}
	g.Add("watermark", moment(e.Watermark))
	if e.HeldBy != nil {
		g.Add("held by", fmt.Sprintf("%s %s: %s", e.HeldBy.Kind, e.HeldBy.Name, e.HeldBy.Reason))
	}
	g.Add("open windows", e.PendingWindows.String())
	g.Add("late records", e.Late.String())
	for _, note := range e.Notes {
		g.Add("note", note)
	}
	tables := []render.Grid{g, explainedWindows(e), explainedPartitions(e)}
	for i, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		if err := a.grid(t); err != nil {
			return err
		}
	}
	return nil
}

func explainedWindows(e worker.WindowExplanation) render.Grid {
	g := render.Grid{Columns: []string{"window", "end", "state", "reason"}}
	for _, w := range e.Windows {
		g.Add(moment(&w.Start), moment(&w.End), w.State, w.Reason)
	}
	return g
}

func explainedPartitions(e worker.WindowExplanation) render.Grid {
	g := render.Grid{Columns: []string{"partition", "task", "watermark", "lag", "reason"}}
	for _, p := range e.Partitions {
		g.Add(fmt.Sprintf("%s/%d", p.Topic, p.Partition), p.Task, moment(p.Watermark), p.Lag.String(), p.Reason)
	}
	return g
}
