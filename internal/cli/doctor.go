package cli

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/doctor"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/config"
)

// errUnwell is the outcome of an examination that found something; it has been shown.
var errUnwell = errors.New("something is wrong; each line says what to do")

func (a *app) doctor() *cobra.Command {
	cfg := config.DefaultDoctor()
	loader := config.NewLoader(&cfg)
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong: broker, topics, Postgres, disk, ports, clock",
		Long: `Looks at the coordinator and its own checks, at the workers, at the brokers and the settings of topics, at Postgres with
its version and rights, at the disk, the ports and the clocks, and says what to do. A running cluster (--api) is asked where
its brokers and workers are; Postgres and the data directory have to be named. It works also when nothing runs. Nothing is
changed. The exit status is 1 when a check fails; a warning is none.`,
		Example: "  pondage doctor\n  pondage doctor --kafka-brokers kafka:9092 --postgres-url postgres://pondage@db/pondage\n  pondage doctor -o json",
	}
	bind(cmd, loader)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if err := load(cmd, loader); err != nil {
			return err
		}
		c, err := client.New(cfg.Client)
		if err != nil {
			return err
		}
		return a.examined(f, doctor.Examine(cmd.Context(), cfg, c))
	}
	return cmd
}

func (a *app) examined(f render.Format, checks []doctor.Check) error {
	raw, err := json.Marshal(struct {
		Checks []doctor.Check `json:"checks"`
	}{checks})
	if err != nil {
		return err
	}
	err = a.show(f, raw, func() error {
		g := render.Grid{Columns: []string{"area", "check", "status", "detail"}}
		for _, c := range checks {
			g.Add(c.Area, c.Name, string(c.Status), c.Detail)
			if c.Hint != "" {
				g.Add("", "", "", "→ "+c.Hint)
			}
		}
		return g.Write(a.Out, 0) // what to do is not cut
	})
	failing := slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Status == doctor.Failing })
	if err == nil && failing {
		err = errUnwell
	}
	return err
}
