package cli

import (
	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

// acceptFlag is the flag with which a user takes what going back may cost.
const acceptFlag = "accept-duplicates"

func acceptDuplicates(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool(acceptFlag, false, "go on although some results may be seen twice or be missing")
}

func (a *app) start() *cobra.Command {
	cmd := &cobra.Command{
		Use: "start NAME…", Short: "Start stopped or failed streams", Args: cobra.MinimumNArgs(1),
		Long: "Starts stopped or failed streams: each goes on from its newest complete checkpoint, or from the savepoint that is named.\n\n" +
			"The command returns when the wish is noted; \"pondage stream get\" shows when it has come true.",
		Example: "  pondage stream start flights_1h\n  pondage stream start flights_1h --from-savepoint before_upgrade",
	}
	savepoint := cmd.Flags().String("from-savepoint", "", "savepoint to go on from")
	accept := acceptDuplicates(cmd)
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		body := api.StartRequest{AcceptDuplicates: accept}
		if *savepoint != "" {
			body.FromSavepoint = savepoint
		} else if *accept {
			return usage("--%s goes with --from-savepoint", acceptFlag)
		}
		return a.each(f, "stream", "to be started", args, func(name string) error {
			_, _, err := client.Read(c.StartStream(cmd.Context(), name, &api.StartStreamParams{}, body))
			return err
		})
	})
}

func (a *app) recover() *cobra.Command {
	cmd := &cobra.Command{
		Use: "recover NAME CHECKPOINT", Short: "Begin anew from an older checkpoint", Args: cobra.ExactArgs(2),
		Long: "Begins the stream anew from a complete checkpoint, or from its start (0): one that lives is reset, one that was stopped or\n" +
			"has failed is started. Newer checkpoints are left behind, but for those that savepoints keep.\n\n" +
			"An output may not be able to take back what it has shown since; then this is refused unless --" + acceptFlag + " is given.",
		Example: "  pondage checkpoint list flights_1h\n  pondage stream recover flights_1h 12",
	}
	accept := acceptDuplicates(cmd)
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		id, err := checkpointNumber(args[1])
		if err != nil {
			return err
		}
		return a.each(f, "stream", "to go on from checkpoint "+id.String(), args[:1], func(name string) error {
			body := api.RecoverRequest{Checkpoint: id, AcceptDuplicates: accept}
			_, _, err := client.Read(c.RecoverStream(cmd.Context(), name, &api.RecoverStreamParams{}, body))
			return err
		})
	})
}
