package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/conformance/vectors"
)

// errFailed makes the command fail after its closing line has said why.
var errFailed = errors.New("conformance: vectors have failed")

// outputJSON is the value of -o with which each outcome is a JSON object a line, and the tally the last of them.
const outputJSON = "json"

// Command returns `pondage conformance`.
func Command() *cobra.Command {
	var dir string
	var e2e bool
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run the window vectors",
		Long: `Runs every *.json of a directory of window vectors through the real planner, decoder, dispatch and window code, in virtual
time; with --e2e through a running stack: REST, Kafka, tasks, Postgres.

A line per case: ok, FAIL or skip, its name, the reason. This version runs interval windows with the triggers at_once and
window_close that need no deletes, no updates and no history; everything else is skipped. ignore_expired 1 is run as
late_by: table, 0 as unbounded lateness. There is no end of input: what has not closed after the last row stays out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := vectors.Print(cmd.OutOrStdout())
			format, _ := cmd.Flags().GetString("output") // there is none where the command stands alone
			if format == outputJSON {
				lines := json.NewEncoder(cmd.OutOrStdout())
				report = func(o vectors.Outcome) { _ = lines.Encode(o) } // a closed pipe ends the process anyway
			}
			var engine vectors.Engine = vectors.Virtual{}
			if e2e {
				stack, err := NewStack(cmd.Context())
				if err != nil {
					return err
				}
				defer stack.Close() //nolint:errcheck // it is thrown away
				engine = stack
			}
			tally, err := vectors.Run(cmd.Context(), dir, engine, report)
			if err != nil {
				return err
			}
			if format == outputJSON {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(tally); err != nil {
					return err
				}
			} else {
				fmt.Fprintln(cmd.OutOrStdout(), tally)
			}
			if tally.Failed > 0 {
				return errFailed
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "vectors", "test/conformance/testdata/windows", "directory of the vectors")
	cmd.Flags().BoolVar(&e2e, "e2e", false, "run them through the embedded stack")
	return cmd
}
