package control

import (
	"maps"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// courses is what this leader has seen of the checkpoints of each stream. Like the board it starts empty with each term:
// who takes the lease reads what runs from the rows, asks all source tasks again, and is told the reports again.
type courses struct {
	mu  sync.Mutex
	all map[ident.StreamID]*course
}

// course is where a stream is with its checkpoints.
type course struct {
	stage ident.Stage
	// since is when the stage became ready or the last attempt began, whichever is later.
	since ident.MonoMs
	// waiting is the checkpoint that was asked for, seen first at asked.
	waiting ident.CheckpointID
	asked   ident.MonoMs
	// covered is where the stream was, at the least, in the newest complete checkpoint that this leader has begun in the
	// stage; nil: it has begun none.
	covered *position
	// complete is when one was last complete; 0: none has been in this leader's time.
	complete ident.MonoMs

	attempt store.Attempt // the running one
	// began is when it was seen first, progress when something last came from it.
	began, progress ident.MonoMs
	begunAt         *position // where the stream was when this leader began it; nil: another one did
	answers         map[ident.Task]answered
	calls           map[ident.NodeID]call
}

// answered is what a source task has said to the request.
type answered struct{ refused *Cause } // nil: taken

// call is a request to a node.
type call struct {
	underWay bool
	again    ident.MonoMs // not before
}

// position is how far a stream is. Each is a sum of what only rises within a stage: two are equal when nothing has moved.
type position struct{ offsets, watermarks int64 }

func newCourses() *courses { return &courses{all: map[ident.StreamID]*course{}} }

// reset forgets everything, for a new term.
func (c *courses) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.all)
}

// forget drops the streams that are no more.
func (c *courses) forget(exists func(ident.StreamID) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.all, func(id ident.StreamID, _ *course) bool { return !exists(id) })
}

// look brings the course of a stream up to its rows, and hands it to see, under the lock.
func (c *courses) look(r row, now ident.MonoMs, see func(*course)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.all[r.ID]
	if k == nil || k.stage != r.Stage {
		k = &course{stage: r.Stage, since: now}
		c.all[r.ID] = k
	}
	if !r.Ready {
		k.since = now
	}
	if r.waiting != nil && r.waiting.ID != k.waiting {
		k.waiting, k.asked = r.waiting.ID, now
	}
	if r.running != nil && r.running.Attempt() != k.attempt {
		k.attempt, k.began, k.progress, k.begunAt = r.running.Attempt(), now, now, nil
		k.answers, k.calls = map[ident.Task]answered{}, map[ident.NodeID]call{}
	}
	see(k)
}

// begun notes that this leader has begun an attempt, with the stream at the position.
func (c *courses) begun(a store.Attempt, at position, now ident.MonoMs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[a.Stream]; k != nil && k.stage == a.Stage {
		k.attempt, k.since, k.began, k.progress, k.begunAt = a, now, now, now, &at
		k.answers, k.calls = map[ident.Task]answered{}, map[ident.NodeID]call{}
	}
}

// completed notes that an attempt is complete, and returns how long it has taken as far as this leader knows.
func (c *courses) completed(a store.Attempt, now ident.MonoMs) (took ident.MonoMs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[a.Stream]; k != nil && k.attempt == a {
		k.covered, k.complete = k.begunAt, now
		return now - k.began
	}
	return 0
}

// lastComplete returns when a checkpoint of the stream was last complete; 0: none has been.
func (c *courses) lastComplete(id ident.StreamID) ident.MonoMs {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[id]; k != nil {
		return k.complete
	}
	return 0
}

// call tells whether a request about the attempt may go to the node now; if so it is under way until returned.
func (c *courses) call(a store.Attempt, node ident.NodeID, now ident.MonoMs) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.all[a.Stream]
	if k == nil || k.attempt != a || k.calls[node].underWay || now < k.calls[node].again {
		return false
	}
	k.calls[node] = call{underWay: true}
	return true
}

// returned notes the answers of a node. Those about an attempt that is over are nobody's.
func (c *courses) returned(a store.Attempt, node ident.NodeID, answers map[ident.Task]answered, now ident.MonoMs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.all[a.Stream]
	if k == nil || k.attempt != a {
		return
	}
	k.calls[node] = call{again: now + requestAgain}
	for t, answer := range answers {
		if _, known := k.answers[t]; !known {
			k.answers[t], k.progress = answer, now
		}
	}
}
