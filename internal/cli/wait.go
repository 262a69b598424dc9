package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

const (
	// waitPoll is how often the state is asked for: fast enough for people, too rare to be a load.
	waitPoll = 250 * time.Millisecond
	// waitDefault is the longest wait where none is given.
	waitDefault = 5 * time.Minute
)

// waitable are the states that are worth waiting for.
var waitable = []string{"running", "paused", "stopped", "finished"}

func (a *app) wait() *cobra.Command {
	state, timeout := "finished", waitDefault
	cmd := &cobra.Command{
		Use: "wait NAME…", Short: "Wait until streams are in a state", Args: cobra.MinimumNArgs(1),
		Long: "Waits until each of the streams is in the state. A stream that fails, or is dropped meanwhile, ends the wait\n" +
			"with an error, as does the end of the time.",
		Example: "  pondage stream wait flights_1h                       # until every window is out\n  pondage stream wait flights_1h --for running --timeout 30s",
	}
	cmd.Flags().StringVar(&state, "for", state, "running, paused, stopped or finished")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "longest wait")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		if !slices.Contains(waitable, state) {
			return usage("--for %s: want running, paused, stopped or finished", state)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		return a.each(f, "stream", state, args, func(name string) error { return await(ctx, c, name, state) })
	})
}

// await polls until the stream is in the state.
func await(ctx context.Context, c *client.Client, name, state string) error {
	seen := "not asked yet"
	for {
		s, _, err := client.Decode[api.Stream](c.GetStream(ctx, name))
		switch {
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return fmt.Errorf("stream %s is not %s in time: it is %s", name, state, seen)
		case err != nil:
			return err
		case s.State == state:
			return nil
		case s.State == "failed" && s.Error != nil:
			return fmt.Errorf("stream %s has failed: %s (%s)", name, s.Error.Message, s.Error.Code)
		case s.State == "failed" || s.State == "dropping":
			return fmt.Errorf("stream %s is %s", name, s.State)
		}
		seen = s.State
		if s.Waiting != nil {
			seen += ", waits for " + *s.Waiting
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("stream %s is not %s in time: it is %s", name, state, seen)
			}
			return ctx.Err()
		case <-time.After(waitPoll):
		}
	}
}
