package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// published reads what a tool sees of a stream's positions, by partition.
func (c *cluster) published(ctx context.Context, stream, topic string) map[int32]int64 {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(testkafka.Shared(c.t)...))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	all, err := kadm.NewClient(client).FetchOffsets(kadm.RequireStable(ctx), ident.Cluster("c").OffsetsGroup(stream))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		c.t.Fatal(err)
	}
	out := map[int32]int64{}
	for n, o := range all[topic] {
		out[n] = o.At
	}
	return out
}

// TestPositionsOfCompleteCheckpointsArePublished, those of all source tasks, and not before a checkpoint is complete.
func TestPositionsOfCompleteCheckpointsArePublished(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 2, together)
	a := c.joinCheckpointed("a", newStore(t))
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 1, 2)
	c.record(o, 1, 3)
	a.await("the records are read", func() bool { return a.metrics()["pondage.source.records"] == 3 })
	a.take(o, 1)
	topic := o.Partitions[0].Topic
	if got := c.published(t.Context(), o.Name, topic); len(got) > 0 {
		t.Errorf("before it is complete: %v", got)
	}
	r.Update(verdict(o, 1, 1, 1))
	want := map[int32]int64{0: 2, 1: 1}
	a.await(fmt.Sprint("published are ", want), func() bool { return maps.Equal(c.published(t.Context(), o.Name, topic), want) })
}
