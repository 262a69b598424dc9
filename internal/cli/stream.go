package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) stream() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stream", Short: "Streams: continuous queries",
		Long:    "A stream reads a source, filters, groups, windows and aggregates, and writes its results to Postgres, Kafka and HTTP.",
		Example: "  pondage stream apply -f examples/flights/flights_1h.yaml\n  pondage stream list\n  pondage stream get flights_1h",
	}
	cmd.AddCommand(a.apply("stream"), a.streamList(), a.streamGet(), a.streamDelete(),
		a.act("pause", "paused", "Stop reading the source; what was read is worked off", pause),
		a.act("resume", "resumed", "Read the source again after a pause", resume),
		a.act("stop", "stopped", "End the tasks; start goes on", stop),
		a.start(),
		a.act("reset", "reset", "Begin a new stage: from the last checkpoint, or from start where there is none", reset),
		a.recover(), a.wait(), a.graph(), a.tasks(), a.explainWindow())
	return cmd
}

func (a *app) streamList() *cobra.Command {
	return asking(&cobra.Command{
		Use: "list", Short: "List the streams with their state, watermark and lag", Example: "  pondage stream list",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		items, err := client.Pages(0, func(size *int32, cursor *string) (*http.Response, error) {
			return c.ListStreams(cmd.Context(), &api.ListStreamsParams{Limit: size, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error {
			streams, err := client.As[api.Stream](items)
			if err != nil {
				return err
			}
			g := render.Grid{Columns: []string{"name", "source", "state", "watermark", "lag", "records/s", "accepted", "late", "dead"}}
			for _, s := range streams {
				g.Add(s.Name, s.Source, s.State, moment(s.Watermark), s.Lag.String(), fmt.Sprintf("%.0f", s.RecordsPerSecond),
					s.Counters.Accepted.String(), s.Counters.Late.String(), s.Counters.DeadLettered.String())
			}
			return a.grid(g)
		})
	})
}

func (a *app) streamGet() *cobra.Command {
	return asking(&cobra.Command{
		Use: "get NAME", Short: "Show a stream: state, counters, partitions, outputs, spec", Args: cobra.ExactArgs(1),
		Example: "  pondage stream get flights_1h\n  pondage stream get flights_1h -o json | jq .counters",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		s, raw, err := client.Decode[api.Stream](c.GetStream(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error { return a.streamPage(s) })
	})
}

func (a *app) streamDelete() *cobra.Command {
	return asking(&cobra.Command{
		Use: "delete NAME…", Short: "Drop streams; what they have written stays", Args: cobra.MinimumNArgs(1), Example: "  pondage stream delete flights_1h",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		return a.each(f, "stream", "being dropped", args, func(name string) error {
			_, _, err := client.Read(c.DeleteStream(cmd.Context(), name, &api.DeleteStreamParams{}))
			return err
		})
	})
}

// action asks for a change of a stream.
type action func(ctx context.Context, c *client.Client, name string) (*http.Response, error)

func pause(ctx context.Context, c *client.Client, name string) (*http.Response, error) {
	return c.PauseStream(ctx, name, &api.PauseStreamParams{}, api.PauseStreamJSONRequestBody{})
}

func resume(ctx context.Context, c *client.Client, name string) (*http.Response, error) {
	return c.ResumeStream(ctx, name, &api.ResumeStreamParams{}, api.ResumeStreamJSONRequestBody{})
}

func stop(ctx context.Context, c *client.Client, name string) (*http.Response, error) {
	return c.StopStream(ctx, name, &api.StopStreamParams{}, api.StopStreamJSONRequestBody{})
}

func reset(ctx context.Context, c *client.Client, name string) (*http.Response, error) {
	return c.ResetStream(ctx, name, &api.ResetStreamParams{}, api.ResetStreamJSONRequestBody{})
}

func (a *app) act(verb, done, short string, do action) *cobra.Command {
	return asking(&cobra.Command{
		Use: verb + " NAME…", Short: short, Args: cobra.MinimumNArgs(1), Example: "  pondage stream " + verb + " flights_1h",
		Long: short + ".\n\nThe command returns when the wish is noted; \"pondage stream get\" shows when it has come true.",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		return a.each(f, "stream", "to be "+done, args, func(name string) error {
			_, _, err := client.Read(do(cmd.Context(), c, name))
			return err
		})
	})
}

func (a *app) graph() *cobra.Command {
	return asking(&cobra.Command{
		Use: "graph NAME", Short: "Show the levels, tasks and edges of a stream", Args: cobra.ExactArgs(1), Example: "  pondage stream graph flights_1h",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		g, raw, err := client.Decode[api.Graph](c.GetGraph(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error { return a.graphPage(g) })
	})
}

func (a *app) tasks() *cobra.Command {
	return asking(&cobra.Command{
		Use: "tasks NAME", Short: "Show the tasks of a stream: where they run and what they do", Args: cobra.ExactArgs(1), Example: "  pondage stream tasks flights_1h",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		page, raw, err := client.Decode[api.TaskPage](c.ListTasks(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{Columns: []string{"task", "node", "state", "watermark", "records/s", "queue", "note"}}
			for _, t := range page.Items {
				g.Add(t.Task, t.Node, orNothing(t.State), moment(t.Watermark), fmt.Sprintf("%.0f", t.RecordsPerSecond), t.QueueBytes.String(), taskNote(t))
			}
			return a.grid(g)
		})
	})
}

// taskNote is what is out of the ordinary with a task.
func taskNote(t api.Task) string {
	if t.Error != nil {
		return t.Error.Code + ": " + t.Error.Message
	}
	if t.Note != nil {
		return *t.Note
	}
	if t.Idle {
		return "idle"
	}
	return ""
}

func orNothing(text *string) string {
	if text == nil {
		return "-"
	}
	return orDash(*text)
}
