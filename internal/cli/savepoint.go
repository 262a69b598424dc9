package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) savepoint() *cobra.Command {
	cmd := &cobra.Command{
		Use: "savepoint", Short: "Savepoints: checkpoints that are kept under a name",
		Long: "A savepoint keeps a checkpoint for as long as it has the name; other checkpoints are dropped for newer ones.\n" +
			"\"pondage stream start --from-savepoint\" goes on from it.",
		Example: "  pondage savepoint create flights_1h before_upgrade --wait\n  pondage savepoint list flights_1h",
	}
	cmd.AddCommand(a.savepointCreate(), a.savepointList(), a.savepointDelete())
	return cmd
}

func (a *app) savepointCreate() *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use: "create STREAM NAME", Short: "Keep a checkpoint under a name", Args: cobra.ExactArgs(2),
		Long: "Takes a checkpoint of a stream that runs and keeps it under the name; of a stream that has ended the newest one is kept.\n" +
			"With --wait the command returns when it is complete. One that has failed can be made again.",
		Example: "  pondage savepoint create flights_1h before_upgrade --wait",
	}
	w.flags(cmd)
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		p, _, err := client.Decode[api.Savepoint](c.CreateSavepoint(cmd.Context(), args[0], &api.CreateSavepointParams{}, api.SavepointRequest{Name: args[1]}))
		if err != nil {
			return err
		}
		k, err := w.until(cmd.Context(), c, p.Checkpoint)
		if err != nil {
			return err
		}
		return a.report(f, outcome{Kind: "savepoint", Name: p.Name, Outcome: k.State, Note: "checkpoint " + k.Checkpoint.String()})
	})
}

func (a *app) savepointList() *cobra.Command {
	return asking(&cobra.Command{
		Use: "list STREAM", Short: "List the savepoints of a stream", Args: cobra.ExactArgs(1), Example: "  pondage savepoint list flights_1h",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		items, err := client.Pages(0, func(size *int32, cursor *string) (*http.Response, error) {
			return c.ListSavepoints(cmd.Context(), args[0], &api.ListSavepointsParams{Limit: size, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error {
			all, err := client.As[api.Savepoint](items)
			if err != nil {
				return err
			}
			g := render.Grid{Columns: []string{"name", "checkpoint", "state", "created", "bytes", "note"}}
			for _, p := range all {
				g.Add(p.Name, p.Checkpoint.Checkpoint.String(), p.State, moment(&p.CreatedAt), p.Checkpoint.BytesFull.String(), checkpointNote(p.Checkpoint))
			}
			return a.grid(g)
		})
	})
}

func (a *app) savepointDelete() *cobra.Command {
	return asking(&cobra.Command{
		Use: "delete STREAM NAME…", Short: "Forget savepoints; their checkpoints are dropped like others from then on", Args: cobra.MinimumNArgs(2),
		Example: "  pondage savepoint delete flights_1h before_upgrade",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		return a.each(f, "savepoint", "deleted", args[1:], func(name string) error {
			_, _, err := client.Read(c.DeleteSavepoint(cmd.Context(), args[0], name))
			return err
		})
	})
}
