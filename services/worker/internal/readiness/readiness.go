package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// Hub is the connections of the process (*connect.Hub).
type Hub interface {
	Cluster() (*connect.Kafka, error)
	Fetchers() []*kafka.Fetcher
}

// Reports are what the tasks here report (*node.Runs).
type Reports interface {
	Reports() (streams []common.StreamReport, tasks []common.TaskReport, updates []common.NodeUpdate)
}

// The names of the checks.
const (
	checkCoordinator = "coordinator"
	checkKafka       = "kafka"
	checkSources     = "sources"
	checkSinks       = "sinks"
)

// Checks returns the checks of a worker, for httpserver.Config. coordinator is node.Agent.Check.
func Checks(coordinator func(context.Context) error, hub Hub, reports Reports) func(context.Context) []httpserver.Check {
	return func(ctx context.Context) []httpserver.Check {
		return []httpserver.Check{
			{Name: checkCoordinator, Err: coordinator(ctx)},
			{Name: checkKafka, Err: ping(ctx, hub)},
			{Name: checkSources, Err: stalled(hub.Fetchers())},
			{Name: checkSinks, Err: retried(reports)},
		}
	}
}

func ping(ctx context.Context, hub Hub) error {
	k, err := hub.Cluster()
	if err != nil {
		return err
	}
	if err := k.Client.Ping(ctx); err != nil {
		return fmt.Errorf("no broker answers; check kafka.brokers and that they run: %w", err)
	}
	return nil
}

// stalled names the readers that make no progress although there is something to read.
func stalled(fetchers []*kafka.Fetcher) error {
	var names []string
	for _, f := range fetchers {
		for _, s := range f.Stalls() {
			name := fmt.Sprintf("%s/%d at offset %d for %s, %d behind", s.Topic, s.Partition, s.Position, s.For.Round(time.Second), s.Lag)
			if s.LastError != nil {
				name += ": " + s.LastError.Error()
			}
			names = append(names, name)
		}
	}
	return listed("readers without progress", names)
}

// sinkNote begins the note of a task whose output is being retried (package stage).
const sinkNote = "sink_unreachable"

// retried names the tasks whose outputs are being retried. Webhooks are left out: any stream's author names one, and a
// receiver that is away says nothing of this node.
func retried(reports Reports) error {
	_, tasks, _ := reports.Reports()
	var names []string
	for _, t := range tasks {
		if strings.HasPrefix(t.Note, sinkNote) && !strings.HasPrefix(t.Note, sinkNote+": "+sink.KindWebhook+":") {
			names = append(names, fmt.Sprintf("stream %d, task %s: %s", t.StreamID, t.Task, t.Note))
		}
	}
	return listed("outputs being retried", names)
}

// mostNamed bounds what a check lists.
const mostNamed = 5

// listed makes an error of names; nil when there are none.
func listed(what string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf("; and %d more", n)
	}
	return errors.New(what + ": " + strings.Join(names, "; ") + more)
}
