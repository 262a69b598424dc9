package align

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// ErrUnreported says that a checkpoint is called complete without this task's part: what it would restore does not exist.
var ErrUnreported = errors.New("a checkpoint is called complete that this task has not reported")

// reporting is a report that has no verdict yet.
type reporting struct {
	Report
	again ident.MonoMs
}

func (c *Core) say(r Report, now ident.MonoMs) {
	c.report = &reporting{Report: r}
	c.repeat(now)
}

func (c *Core) repeat(now ident.MonoMs) {
	if c.report != nil {
		c.report.again = now + ident.MonoMs(ReportEvery.Milliseconds())
		c.emit(c.report.Report)
	}
}

// verdict takes the coordinator's word. It may come any number of times, late or in another order.
func (c *Core) verdict(e Settled) error {
	if e.Stage != c.stage {
		return nil
	}
	if e.Complete > c.complete {
		if !slices.Contains(c.kept, e.Complete) {
			return fmt.Errorf("checkpoint %d, stage %d: %w", e.Complete, e.Stage, ErrUnreported)
		}
		c.complete, c.commit.owed = e.Complete, e.Complete
		c.commitNext(e.Now)
	}
	if s := max(e.Settled, e.Complete); s > c.settled {
		c.settle(s)
	}
	return nil
}

// settle ends everything up to s: it is covered by the newest complete checkpoint, or has failed.
func (c *Core) settle(s ident.CheckpointID) {
	c.settled = s
	c.kept = slices.DeleteFunc(c.kept, func(id ident.CheckpointID) bool {
		if id > c.complete && id <= s {
			c.emit(Discard{id})
		}
		return id <= s
	})
	if c.report != nil && c.report.Checkpoint <= s {
		c.report = nil
	}
	if c.part != nil && c.part.id <= s {
		c.end(task.CheckpointFailed)
	}
	if len(c.upstreams) > 0 {
		c.emit(Settle{s})
	}
}

// committing is what the sinks have still to do.
type committing struct {
	owed    ident.CheckpointID // the newest complete one of this stage, at first the restored one
	done    ident.CheckpointID
	running bool
	again   ident.MonoMs // not before this time
}

// Underway tells whether a checkpoint is being taken, or is done here and has no verdict yet.
func (c *Core) Underway() bool { return c.part != nil || len(c.kept) > 0 }

// Committed is the newest complete checkpoint whose consequences are done: the acknowledgement in the heartbeat.
func (c *Core) Committed() ident.CheckpointID { return c.commit.done }

// commitNext begins the commit that is owed, unless one is under way: complete checkpoints are committed in order, and a
// newer one covers those that were complete meanwhile.
func (c *Core) commitNext(now ident.MonoMs) {
	m := &c.commit
	if m.running || m.done >= m.owed || now < m.again {
		return
	}
	m.running = true
	c.emit(Commit{m.owed})
}

func (c *Core) hasCommitted(e Committed) {
	c.commit.done, c.commit.running = max(c.commit.done, e.Checkpoint), false
	c.commitNext(e.Now)
}
