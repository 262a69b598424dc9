package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) checkpoint() *cobra.Command {
	cmd := &cobra.Command{
		Use: "checkpoint", Short: "Checkpoints: what streams go on from",
		Long: "A checkpoint is a consistent cut through a stream: the state of its tasks and where they had read to. They are taken\n" +
			"by themselves, as often as the stream's checkpoint_interval says; the newest complete one is what a reset goes on from.",
		Example: "  pondage checkpoint list flights_1h\n  pondage checkpoint take flights_1h --wait",
	}
	cmd.AddCommand(a.checkpointList(), a.checkpointGet(), a.checkpointTake())
	return cmd
}

// listedCheckpoints is how many are listed unless a limit is given: some minutes of a stream.
const listedCheckpoints = 20

func (a *app) checkpointList() *cobra.Command {
	limit := listedCheckpoints
	cmd := &cobra.Command{
		Use: "list [STREAM]", Short: "List the checkpoints of a stream, or of all, newest first", Args: cobra.MaximumNArgs(1),
		Example: "  pondage checkpoint list\n  pondage checkpoint list flights_1h --limit 100",
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "most to list; 0 for all")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		var stream *string
		if len(args) > 0 {
			stream = &args[0]
		}
		items, err := client.Pages(limit, func(size *int32, cursor *string) (*http.Response, error) {
			return c.ListCheckpoints(cmd.Context(), &api.ListCheckpointsParams{Stream: stream, Limit: size, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error {
			all, err := client.As[api.Checkpoint](items)
			if err != nil {
				return err
			}
			g := render.Grid{Columns: []string{"stream", "checkpoint", "kind", "state", "asked", "took", "bytes", "written", "note"}}
			for _, k := range all {
				g.Add(k.Stream, k.Checkpoint.String(), k.Kind, k.State, moment(&k.AskedAt), took(k), k.BytesFull.String(), k.BytesIncremental.String(), checkpointNote(k))
			}
			return a.grid(g)
		})
	})
}

// took is how long a checkpoint has run.
func took(k api.Checkpoint) string {
	if k.BegunAt == nil || k.EndedAt == nil {
		return "-"
	}
	return k.EndedAt.Sub(*k.BegunAt).Round(time.Millisecond).String()
}

// checkpointNote is what is out of the ordinary with a checkpoint.
func checkpointNote(k api.Checkpoint) string {
	switch {
	case k.Error != nil:
		return k.Error.Code + ": " + k.Error.Message
	case k.Abandoned:
		return "the stream went back to an older one"
	}
	return ""
}

func (a *app) checkpointGet() *cobra.Command {
	return asking(&cobra.Command{
		Use: "get STREAM CHECKPOINT", Short: "Show a checkpoint with the parts of its tasks", Args: cobra.ExactArgs(2),
		Example: "  pondage checkpoint get flights_1h 12",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		id, err := checkpointNumber(args[1])
		if err != nil {
			return err
		}
		k, raw, err := client.Decode[api.Checkpoint](c.GetCheckpoint(cmd.Context(), args[0], id))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error { return a.checkpointPage(k) })
	})
}

func checkpointNumber(text string) (common.Int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, usage("%q is no number of a checkpoint", text)
	}
	return common.Int64(n), nil
}

func (a *app) checkpointPage(k api.Checkpoint) error {
	g := render.Grid{}
	g.Add("stream", k.Stream)
	g.Add("checkpoint", k.Checkpoint.String())
	g.Add("kind", k.Kind)
	g.Add("state", k.State)
	if note := checkpointNote(k); note != "" {
		g.Add("note", note)
	}
	g.Add("stage", k.Stage.String())
	g.Add("asked", moment(&k.AskedAt))
	g.Add("begun", moment(k.BegunAt))
	g.Add("ended", moment(k.EndedAt))
	g.Add("bytes", fmt.Sprintf("%s, of which %s were written", k.BytesFull, k.BytesIncremental))
	g.Add("slowest task", fmt.Sprintf("align %s ms, sync %s ms, async %s ms", k.AlignMs, k.SyncMs, k.AsyncMs))
	if err := a.grid(g); err != nil || len(k.Tasks) == 0 {
		return err
	}
	fmt.Fprintln(a.Out)
	parts := render.Grid{Columns: []string{"task", "node", "bytes", "written", "align ms", "sync ms", "async ms", "manifest"}}
	for _, t := range k.Tasks {
		parts.Add(t.Task, t.Node, t.BytesFull.String(), t.BytesIncremental.String(), t.AlignMs.String(), t.SyncMs.String(), t.AsyncMs.String(), t.Manifest)
	}
	return a.grid(parts)
}

func (a *app) checkpointTake() *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use: "take STREAM", Short: "Take a checkpoint now", Args: cobra.ExactArgs(1),
		Long: "Asks for a checkpoint and returns; with --wait it returns when the checkpoint is complete, or says why it has failed.\n" +
			"Where another one waits already, that is the one.",
		Example: "  pondage checkpoint take flights_1h --wait",
	}
	w.flags(cmd)
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		k, _, err := client.Decode[api.Checkpoint](c.TakeCheckpoint(cmd.Context(), args[0], &api.TakeCheckpointParams{}, api.TakeCheckpointJSONRequestBody{}))
		if err != nil {
			return err
		}
		if k, err = w.until(cmd.Context(), c, k); err != nil {
			return err
		}
		return a.report(f, outcome{Kind: "checkpoint", Name: k.Stream + "/" + k.Checkpoint.String(), Outcome: k.State})
	})
}

// waiting is whether and how long a command waits for a checkpoint.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "return when it is complete")
	cmd.Flags().DurationVar(&w.timeout, "timeout", waitDefault, "longest wait")
}

// until polls a checkpoint until it is complete, if it is to be waited for.
func (w *waiting) until(ctx context.Context, c *client.Client, k api.Checkpoint) (api.Checkpoint, error) {
	if !w.wait {
		return k, nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	for {
		switch k.State {
		case "complete":
			return k, nil
		case "failed":
			return k, fmt.Errorf("checkpoint %s of %s has failed: %s", k.Checkpoint, k.Stream, checkpointNote(k))
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return k, fmt.Errorf("checkpoint %s of %s is not complete in time: it is %s", k.Checkpoint, k.Stream, k.State)
			}
			return k, ctx.Err()
		case <-time.After(waitPoll):
		}
		next, _, err := client.Decode[api.Checkpoint](c.GetCheckpoint(ctx, k.Stream, k.Checkpoint))
		if err != nil && ctx.Err() == nil {
			return k, err
		}
		if err == nil {
			k = next
		}
	}
}
