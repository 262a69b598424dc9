package devstack

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// reserve is what stays free, bytes: the broker takes no records while there is less. It has room for the requests under
	// way and, most of all, for the next segments (16 MiB each) of the log of a Postgres beside it, which crashes without.
	reserve = 64 << 20
	// roomAgain is from where on records are taken again, bytes: above reserve, so that one request does not begin it anew.
	roomAgain = 2 * reserve
	// diskLook is how often the free space is looked at: a fast disk takes less than reserve meanwhile.
	diskLook = 200 * time.Millisecond
	// calm is how long a failed write counts: a quota is full without the disk being so.
	calm = 5 * time.Second
)

// diskGuard keeps the embedded broker off a full disk: it answers producers with KAFKA_STORAGE_ERROR and the reason
// instead of trying, until there is room, and says in the log when that begins and when it ends.
//
// It looks ahead of the first failed write for a reason: the broker notes the sequence of an idempotent producer before
// it writes. The write fails, the producer repeats it, the broker takes the repeat for a duplicate and acknowledges what is
// nowhere.
type diskGuard struct {
	dir    string
	log    *slog.Logger
	room   func(dir string) (free int64, err error)
	failed chan struct{} // a write has failed; one place
	ended  chan struct{}
	loop   sync.WaitGroup
}

func newDiskGuard(dir string, o BrokerOptions) *diskGuard {
	g := &diskGuard{dir: dir, log: o.Log, room: o.room, failed: make(chan struct{}, 1), ended: make(chan struct{})}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.room == nil {
		g.room = freeSpace
	}
	return g
}

// freeSpace returns the bytes that may still be written at a directory.
func freeSpace(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("devstack: look at the free space of %s: %w", dir, err)
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// Logf implements kfake.Logger. It is called by the broker while it works and does not block. What the broker says of a
// full disk is said once, by run; else its warnings go to the log.
func (g *diskGuard) Logf(level kfake.LogLevel, format string, args ...any) {
	for _, arg := range args {
		if err, ok := arg.(error); ok && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
			select {
			case g.failed <- struct{}{}:
			default:
			}
			return
		}
	}
	if level == kfake.LogLevelError || level == kfake.LogLevelWarn {
		g.log.Warn("the embedded broker: "+fmt.Sprintf(format, args...), "dir", g.dir)
	}
}

// start begins to look after the cluster's disk; stop ends it.
func (g *diskGuard) start(cluster *kfake.Cluster) { g.loop.Go(func() { g.run(cluster) }) }

func (g *diskGuard) stop() {
	close(g.ended)
	g.loop.Wait()
}

func (g *diskGuard) run(cluster *kfake.Cluster) {
	tick := time.NewTicker(diskLook)
	defer tick.Stop()
	var refusing *kfake.FaultHandle // nil: records are taken
	var since, failed time.Time
	for {
		select {
		case <-g.ended:
			return
		case <-g.failed:
			failed = time.Now()
		case <-tick.C:
		}
		free, err := g.room(g.dir)
		hurt := !failed.IsZero() && time.Since(failed) < calm
		switch {
		case refusing == nil && (hurt || err == nil && free < reserve):
			refusing, since = cluster.Fault(g.refusal()), time.Now()
			g.log.Error("the disk is full: the embedded broker takes no records until there is room", "dir", g.dir, "free_bytes", free,
				"do", fmt.Sprintf("free some space there (%d MiB at least); nothing need be restarted", roomAgain>>20))
		case refusing != nil && !hurt && (err != nil || free >= roomAgain):
			refusing.Remove()
			refusing = nil
			g.log.Info("the disk has room again: the embedded broker takes records", "dir", g.dir, "free_bytes", free,
				"after", time.Since(since).Round(time.Second))
		}
	}
}

// refusal is what producers are told.
func (g *diskGuard) refusal() kfake.Fault {
	told := *kerr.KafkaStorageError
	told.Message = fmt.Sprintf("the disk of the embedded broker is full: free some space at %s", g.dir)
	return kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Err: &told}
}
