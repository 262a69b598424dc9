package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/storage/dirstore"
	"github.com/pondage/pondage/internal/storage/faultfs"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/worker/internal/memory"
)

// devices writes one record of each of n devices.
func (c *cluster) devices(o common.Order, n, second int) {
	c.t.Helper()
	k, err := c.hub.Cluster()
	if err != nil {
		c.t.Fatal(err)
	}
	q, err := k.Producer.Open(c.t.Context(), o.Partitions[0].Topic, 0, kafka.QueueOptions{Mode: kafka.RetryItself})
	if err != nil {
		c.t.Fatal(err)
	}
	defer q.Close()
	for d := range n {
		if err := q.Send(c.t.Context(), kafka.Message{Value: fmt.Appendf(nil, `{"device":"device-%d","ts":%d}`, d, second*1000)}); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := q.Flush(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// TestAStageWaitsForRoomOnItsDisk: it says so, by the name that keeps its stream from failing, and begins by itself.
func TestAStageWaitsForRoomOnItsDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	disk := faultfs.New()
	on, err := dirstore.OpenOn(disk, "/checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	const operations = 10
	for op := range operations {
		disk.FailAt(disk.Ops()+1+op, syscall.ENOSPC)
	}
	a := c.joinCheckpointed("a", &store{Store: on})
	r := a.begin(o)
	a.await("the tasks say that the disk is full", func() bool {
		return !slices.ContainsFunc(r.Reports(), func(rep common.TaskReport) bool { return !strings.HasPrefix(rep.Note, "disk_full: checkpoint store: ") })
	})
	a.await("all are ready", func() bool { return all(r, task.Ready) })
}

// TestWindowsBeyondTheirMemoryLieOnDisk: they are part of checkpoints, come back, and leave nothing behind.
func TestWindowsBeyondTheirMemoryLieOnDisk(t *testing.T) {
	t.Parallel()
	const devices = 20_000 // with their windows more than the least share
	c := newCluster(t)
	o := c.order(counts, 1, together)
	s := newStore(t)
	dir := t.TempDir()
	join := func() checkpointed {
		m := c.joinCheckpointed("a", s)
		m.Overflow = Overflow{Memory: memory.NewShares(1), Dir: dir}
		return m
	}
	onDisk := func() int {
		found, err := filepath.Glob(filepath.Join(dir, fmt.Sprint(o.StreamID), "agg-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}

	a := join()
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.devices(o, devices, 1)
	a.await("the windows lie on disk", func() bool { return onDisk() == vgroups })
	a.await("the records are read", func() bool { return a.metrics()["pondage.source.records"] == devices })
	from := a.take(o, 1)
	r.End()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left on disk: %v, %v", left, err)
	}

	a = join()
	o = next(o, from)
	r = a.begin(o)
	a.await("all are ready again", func() bool { return all(r, task.Ready) })
	if onDisk() != vgroups {
		t.Errorf("%d tasks have windows on disk after a restore, want %d", onDisk(), vgroups)
	}
	c.devices(o, devices, 2)
	c.devices(o, 1, 11)
	a.await("every window is given out once", func() bool { return a.metrics()["pondage.result.rows"] == devices })
	feed := a.results(c.plan(o), o.StreamID)
	got, _, _ := feed.feed.Read(&feed.at)
	for _, x := range got {
		for i := x.From; i < x.To; i++ {
			if n := x.Batch.Cols[2].Int[i]; n != 2 {
				t.Fatalf("a device has %d records, want 2", n)
			}
		}
	}
	if len(got) == 0 {
		t.Error("no results are shown")
	}
}
