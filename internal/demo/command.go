package demo

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// errDifferent makes the command fail after its closing lines have said why.
var errDifferent = errors.New("demo: results differ from the batch computation")

// Command returns `pondage demo`.
func Command() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on real flights and check every result",
		Long: `Starts the embedded stack in a fresh directory on free ports, declares a source and four streams, sends 201,601 real flights
through Kafka, and compares what lands in Postgres, in Kafka and over HTTP with an independent batch computation.

The closing line of each stream says how many of its windows are equal in all three, and how many keys are missing, extra
or changed in any. The exit status is 1 when there is such a one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, isFile := cmd.ErrOrStderr().(*os.File)
			d := &demo{out: cmd.OutOrStdout(), progress: progress{to: cmd.ErrOrStderr(), redraw: isFile && term.IsTerminal(int(f.Fd()))}}
			return d.run(cmd.Context(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the stack up afterwards, until interrupted, and say how to look at it")
	return cmd
}
