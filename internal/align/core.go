package align

import (
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// AskAfterMs is after how long a missing trigger is asked for, and then again (DESIGN §7).
const AskAfterMs = 10_000

// Config is what a core knows from the placement and the restored checkpoint of its stage.
type Config struct {
	// Upstreams; none: a source task.
	Upstreams []ident.Task
	// Restored is the checkpoint that the stage began with; 0: none.
	Restored ident.CheckpointID
}

// Core is one task's side of the checkpoints of one stage.
type Core struct {
	upstreams []ident.Task
	now       ident.MonoMs
	run       *run // nil: none is running
	settled   ident.CheckpointID
	complete  ident.CheckpointID
	committed ident.CheckpointID
	// kept are the checkpoints that were reported as done and whose verdict is not known, rising.
	kept []ident.CheckpointID
	out  []Effect
}

// phase is how far the task has come with the running checkpoint.
type phase uint8

const (
	phaseFlushing phase = iota + 1 // a source task finishes its block
	phaseAligning                  // triggers are missing
	phaseFreezing                  // the synchronous part
	phaseWriting                   // the asynchronous part
)

// run is the running checkpoint.
type run struct {
	id       ident.CheckpointID
	tx       ident.TxID
	phase    phase
	deadline ident.MonoMs
	missing  []ident.Task // upstreams whose trigger is not in
	askAt    ident.MonoMs
	began    ident.MonoMs
	aligned  ident.MonoMs
	frozen   ident.MonoMs
}

// New returns a core without a checkpoint.
func New(c Config) *Core {
	return &Core{upstreams: c.Upstreams, settled: c.Restored, complete: c.Restored, committed: c.Restored}
}

// Committed is the newest complete checkpoint whose consequences are done: for the task's report.
func (c *Core) Committed() ident.CheckpointID { return c.committed }

// Running is the checkpoint that runs at the task; 0: none.
func (c *Core) Running() ident.CheckpointID {
	if c.run == nil {
		return 0
	}
	return c.run.id
}

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call.
func (c *Core) Step(e Event) []Effect {
	c.out = c.out[:0]
	switch e := e.(type) {
	case Request:
		c.now = e.Now
		c.request(e)
	case Flushed:
		if r := c.in(e.Checkpoint, phaseFlushing); r != nil {
			r.aligned = c.now
			c.freeze(r)
		}
	case AlignmentBegan:
		c.now = e.Now
		c.began(e)
	case TriggerIn:
		if r := c.in(e.Checkpoint, phaseAligning); r != nil {
			r.missing = without(r.missing, e.From)
		}
	case AllIn:
		c.now = e.Now
		if r := c.in(e.Checkpoint, phaseAligning); r != nil {
			r.aligned = c.now
			c.freeze(r)
		}
	case AlignmentFailed:
		if r := c.in(e.Checkpoint, phaseAligning); r != nil {
			c.fail(r, "a higher checkpoint has overtaken it")
		}
	case Frozen:
		c.now = e.Now
		c.frozenNow(e)
	case Written:
		c.now = e.Now
		c.written(e)
	case Verdict:
		c.now = e.Now
		c.verdict(e)
	case Committed:
		c.committed = max(c.committed, e.Checkpoint)
	case TriggerAnswer:
		c.now = e.Now
		c.answered(e)
	case Tick:
		c.now = e.Now
		c.tick()
	}
	return c.out
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// in returns the running checkpoint when it is this one and in this phase.
func (c *Core) in(id ident.CheckpointID, p phase) *run {
	if c.run == nil || c.run.id != id || c.run.phase != p {
		return nil
	}
	return c.run
}

func without(tasks []ident.Task, gone ident.Task) []ident.Task {
	for i, t := range tasks {
		if t == gone {
			return append(tasks[:i:i], tasks[i+1:]...)
		}
	}
	return tasks
}

// request is the coordinator's word to a source task.
func (c *Core) request(e Request) {
	answer := Answer{Checkpoint: e.Checkpoint, Tx: e.Tx}
	switch r := c.run; {
	case e.Checkpoint <= c.settled:
		answer.Refused = fmt.Sprintf("checkpoint %d is not above %d, which is over", e.Checkpoint, c.settled)
	case r != nil && r.id == e.Checkpoint && r.tx == e.Tx, c.keeps(e.Checkpoint):
		// It was taken; the answer was lost.
	case r != nil && r.id >= e.Checkpoint:
		answer.Refused = fmt.Sprintf("checkpoint %d is running, in transaction %d", r.id, r.tx)
	case e.Unable != "":
		answer.Refused = e.Unable
	default:
		c.emit(answer)
		c.begin(e.Checkpoint, e.Tx, e.LeftMs, phaseFlushing)
		c.emit(Flush{Checkpoint: e.Checkpoint})
		return
	}
	c.emit(answer)
}

func (c *Core) keeps(id ident.CheckpointID) bool {
	for _, k := range c.kept {
		if k == id {
			return true
		}
	}
	return false
}

// began is the first trigger at a receiving task.
func (c *Core) began(e AlignmentBegan) {
	if e.Checkpoint <= c.settled || c.run != nil && c.run.id >= e.Checkpoint {
		c.emit(Settle{Checkpoint: e.Checkpoint}) // its inputs must not stay closed for it
		return
	}
	c.begin(e.Checkpoint, e.Tx, e.LeftMs, phaseAligning)
	if e.Unable != "" {
		c.fail(c.run, e.Unable)
	}
}

// begin takes a checkpoint up. One that still runs is older: the coordinator has begun another one, so that one is over.
func (c *Core) begin(id ident.CheckpointID, tx ident.TxID, leftMs int64, p phase) {
	if old := c.run; old != nil {
		c.end(old, task.CheckpointFailed)
		c.emit(Discard{Checkpoint: old.id})
		c.settled = max(c.settled, old.id)
	}
	c.run = &run{
		id: id, tx: tx, phase: p, began: c.now, deadline: c.now + ident.MonoMs(max(0, leftMs)),
		missing: append([]ident.Task(nil), c.upstreams...), askAt: c.now + AskAfterMs,
	}
	c.emit(Enter{Event: task.GenCheckpoint})
}

func (c *Core) freeze(r *run) {
	r.phase = phaseFreezing
	c.emit(Freeze{Checkpoint: r.id, Tx: r.tx})
}

// frozenNow goes on after the synchronous part: the trigger first, then the inputs.
func (c *Core) frozenNow(e Frozen) {
	r := c.in(e.Checkpoint, phaseFreezing)
	if r == nil {
		return
	}
	r.frozen = c.now
	c.emit(Forward{Checkpoint: r.id, Tx: r.tx, LeftMs: int64(max(0, r.deadline-c.now))})
	if len(c.upstreams) > 0 {
		c.emit(OpenInputs{Checkpoint: r.id})
	}
	r.phase = phaseWriting
	c.emit(Write{Checkpoint: r.id, Tx: r.tx})
}

// written is the end of the asynchronous part. What was durable only after the checkpoint was over is nobody's.
func (c *Core) written(e Written) {
	r := c.in(e.Checkpoint, phaseWriting)
	if r == nil {
		c.emit(Discard{Checkpoint: e.Checkpoint})
		return
	}
	if e.Err != "" {
		c.fail(r, e.Err)
		return
	}
	c.kept = append(c.kept, r.id)
	c.end(r, task.CheckpointDone)
	c.emit(Report{
		Checkpoint: r.id, Tx: r.tx, AlignMs: int64(r.aligned - r.began), SyncMs: int64(r.frozen - r.aligned), AsyncMs: int64(c.now - r.frozen),
	})
}

// fail is the end of a checkpoint that the task cannot do its part of. It is over here; the report says why.
func (c *Core) fail(r *run, why string) {
	c.settled = max(c.settled, r.id)
	c.end(r, task.CheckpointFailed)
	if len(c.upstreams) > 0 {
		c.emit(Settle{Checkpoint: r.id})
	}
	c.emit(Discard{Checkpoint: r.id})
	c.emit(Report{Checkpoint: r.id, Tx: r.tx, Failed: why})
}

func (c *Core) end(r *run, how task.Event) {
	if c.run == r {
		c.run = nil
	}
	c.emit(Enter{Event: how})
}

// verdict takes the newest complete and the newest settled checkpoint from the orders. Orders may be late and repeated:
// only what is higher says something.
func (c *Core) verdict(e Verdict) {
	settled := max(e.Settled, e.Complete)
	if r := c.run; r != nil && r.id <= settled {
		// Failed: by another task, by its time, or by a reset that this task will hear of. It cannot be complete without
		// this task's report, which comes with the end of the run.
		c.settled = max(c.settled, r.id)
		c.end(r, task.CheckpointFailed)
		if len(c.upstreams) > 0 {
			c.emit(Settle{Checkpoint: r.id})
		}
		c.emit(Discard{Checkpoint: r.id})
	}
	left := c.kept[:0]
	for _, id := range c.kept {
		switch {
		case id > settled:
			left = append(left, id)
		case id != e.Complete && id > c.complete:
			c.emit(Discard{Checkpoint: id})
		}
	}
	c.kept = left
	if settled > c.settled && len(c.upstreams) > 0 {
		c.emit(Settle{Checkpoint: settled}) // also one whose triggers have not come yet
	}
	c.settled = max(c.settled, settled)
	c.complete = max(c.complete, e.Complete)
	if c.committed < c.complete {
		c.emit(Commit{Checkpoint: c.complete})
	}
}

// answered takes what an upstream's node knows of a missing trigger.
func (c *Core) answered(e TriggerAnswer) {
	r := c.in(e.Checkpoint, phaseAligning)
	if r == nil {
		return
	}
	still := false
	for _, t := range r.missing {
		still = still || t == e.From
	}
	switch {
	case !still:
	case e.Status == TriggerNotRunning:
		c.fail(r, fmt.Sprintf("%s does not run the checkpoint", e.From))
	case e.Status == TriggerSent && e.Msg <= e.Received:
		// It was consumed as one that closes nothing: before this checkpoint was known here. It will not come again.
		c.fail(r, fmt.Sprintf("the trigger of %s was message %d, and %d is processed", e.From, e.Msg, e.Received))
	}
}

// tick lets the time of the running checkpoint end, and asks for missing triggers.
func (c *Core) tick() {
	r := c.run
	if r == nil {
		return
	}
	switch {
	case c.now >= r.deadline:
		c.fail(r, "its time is over "+r.waitsFor())
	case r.phase == phaseAligning && c.now >= r.askAt:
		r.askAt = c.now + AskAfterMs
		c.emit(AskTriggers{Checkpoint: r.id, Of: append([]ident.Task(nil), r.missing...)})
	}
}

// waitsFor says what a checkpoint hung on, for the report of its time-out.
func (r *run) waitsFor() string {
	switch r.phase {
	case phaseFlushing:
		return "while rows waited for credit"
	case phaseAligning:
		return fmt.Sprintf("while the triggers of %v were missing", r.missing)
	case phaseFreezing:
		return "in its synchronous part"
	default:
		return "in its asynchronous part"
	}
}
