package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/failpoint"
)

func (a *app) failpoints() *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use: "failpoints", Short: "List the places where a test build can be made to die, wait, fail or misbehave",
		Long: `A binary that was built with the tag "failpoints" switches them by PONDAGE_FAILPOINTS when it starts:

  point[=action][@n[+]]; …

A point acts at its n-th hit (the first where none is given), once, or with a plus from then on. Actions of a place: die (kill -9
of the own process, where none is given), exit(status), error(text), sleep(duration). A misbehaviour is on or not.
In any other binary they are not there; "built" tells which this one is.`,
		Example: `  pondage failpoints
  pondage failpoints -o json
  pondage failpoints --check "storage/manifest:durable=die@3; drop-one-block"`,
	}
	cmd.Flags().StringVar(&text, "check", "", "a `text` for PONDAGE_FAILPOINTS: say what is wrong with it, if anything is")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if _, err := failpoint.Parse(text); err != nil {
			return usage("--check: %v", err)
		}
		answer := struct {
			Built bool             `json:"built"`
			Items []failpoint.Info `json:"items"`
		}{failpoint.Built, failpoint.Points()}
		raw, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{Columns: []string{"point", "kind", "where", "what"}}
			for _, p := range answer.Items {
				g.Add(string(p.Point), string(p.Kind), p.Where, p.What)
			}
			return a.grid(g)
		})
	}
	return cmd
}
