package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/cli/serve"
	"github.com/pondage/pondage/internal/config"
)

// roleCommands are the roles, the one that needs nothing else first.
func roleCommands(a *app) []*cobra.Command {
	dev, coordinator, worker := config.DefaultDev(), config.DefaultCoordinator(), config.DefaultWorker()
	snapshotter, node, broker := config.DefaultSnapshotter(), config.DefaultNode(), config.DefaultBroker()
	return []*cobra.Command{
		a.role(&dev, "dev", "Everything in one process: broker, Postgres, coordinator, node", `Starts a Kafka-compatible broker, a private Postgres, a coordinator and a node in one process, with their data in one
directory that survives a restart. --kafka and --postgres (short for --kafka-brokers and --postgres-url) put real ones in
their places.`,
			"  pondage dev\n  pondage dev --data-dir /var/tmp/pondage --http-listen 127.0.0.1:0\n  pondage dev --kafka kafka:9092 --postgres postgres://me@db/pondage",
			func(ctx context.Context, p serve.Process) error { return serve.Dev(ctx, dev, p) }),
		a.role(&coordinator, "coordinator", "The REST API, the planner and the control of all streams", "Any number of coordinators serve one cluster; the one that holds the lease in Postgres drives it.",
			"  pondage coordinator --postgres-url postgres://pondage@db/pondage --kafka-brokers kafka:9092",
			func(ctx context.Context, p serve.Process) error { return serve.Coordinator(ctx, coordinator, p) }),
		a.role(&node, "node", "A worker and its snapshotter in one process", "A host of the cluster runs one node. Its data directory is its identity.",
			"  pondage node --coordinators http://coordinator:7420 --data-dir /var/lib/pondage --postgres-url postgres://pondage@db/pondage",
			func(ctx context.Context, p serve.Process) error { return serve.Node(ctx, node, p) }),
		a.role(&worker, "worker", "Runs the tasks of streams; serves ingest and results", "A worker without the snapshotter beside it, which then is a process of its own with the same data directory.",
			"  pondage worker --coordinators http://coordinator:7420 --data-dir node1 --postgres-url postgres://pondage@db/pondage",
			func(ctx context.Context, p serve.Process) error { return serve.Worker(ctx, worker, p) }),
		a.role(&snapshotter, "snapshotter", "Keeps a node's checkpoint files", "The snapshotter of a node, on the host and with the data directory of its worker.",
			"  pondage snapshotter --data-dir node1",
			func(ctx context.Context, p serve.Process) error { return serve.Snapshotter(ctx, snapshotter, p) }),
		a.role(&broker, "broker", "The embedded broker as a process of its own", "A Kafka-compatible broker for one machine and for tests; not for production.",
			"  pondage broker --listen 127.0.0.1:7492 --data-dir broker",
			func(ctx context.Context, p serve.Process) error { return serve.Broker(ctx, broker, p) }),
	}
}

// roleHelp ends the help of every role.
const roleHelp = `

Each key is a flag, a variable (PONDAGE_HTTP_LISTEN) and a member of the --config file; a flag wins over the variable, that
over the file. The first SIGTERM or SIGINT closes within 25 s, the second ends the process at once.`

// role makes the command of a role; cfg is filled before run is called.
func (a *app) role(cfg config.Role, name, short, long, example string, run func(context.Context, serve.Process) error) *cobra.Command {
	loader := config.NewLoader(cfg)
	cmd := &cobra.Command{Use: name, Short: short, Long: long + roleHelp, Example: example}
	bind(cmd, loader)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if err := load(cmd, loader); err != nil {
			return err
		}
		return run(cmd.Context(), serve.Process{
			Version: Build(name), Logs: a.Err,
			Ready: func(r serve.Ready) error { return a.ready(f, r) },
		})
	}
	return cmd
}

// ready says where a role is reached, and how one begins.
func (a *app) ready(f render.Format, r serve.Ready) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.show(f, raw, func() error {
		fmt.Fprintf(a.Out, "pondage %s is ready\n", r.Role)
		g := render.Grid{}
		for _, line := range []struct{ what, where string }{
			{"API", r.API}, {"worker", r.Worker}, {"snapshotter", r.Snapshotter}, {"documentation", docsOf(r)}, {"data", r.DataDir},
		} {
			if line.where != "" {
				g.Add("  "+line.what, line.where)
			}
		}
		for _, b := range r.Brokers {
			g.Add("  Kafka", b)
		}
		if err := g.Write(a.Out, 0); err != nil { // never cut: it is there to be copied
			return err
		}
		return howTo(a.Out, r)
	})
}

func docsOf(r serve.Ready) string {
	if r.API == "" {
		return ""
	}
	return r.API + "/docs"
}

// howTo shows commands to begin with, ready to be copied.
func howTo(w io.Writer, r serve.Ready) error {
	if r.Postgres == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, `
  curl %s/v1/streams
  psql '%s'
  kcat -b %s -L
  pondage source apply -f examples/flights/ --api %s
`, r.API, r.Postgres, r.Brokers[0], r.API)
	return err
}
