package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show what this binary is", Example: "  pondage version\n  pondage version -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output(cmd)
			if err != nil {
				return err
			}
			v := Build("cli")
			raw, err := json.Marshal(v)
			if err != nil {
				return err
			}
			return a.show(f, raw, func() error {
				g := render.Grid{}
				g.Add("version", v.Version)
				g.Add("commit", orDash(v.Commit))
				g.Add("go", v.Go)
				return a.grid(g)
			})
		},
	}
}
