package align

import (
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// The times of DESIGN §7.
const (
	// AskAfter is how long an alignment lasts before the triggers that are missing are asked for, and asked for again.
	AskAfter = 10 * time.Second
	// ReportEvery is how often a report is repeated until its checkpoint is settled.
	ReportEvery = 10 * time.Second
	// CommitRetry is the pause before a commit that has failed is tried again.
	CommitRetry = time.Second
)

// Config is what a task knows of its stream's checkpoints when its stage begins.
type Config struct {
	Stage     ident.Stage
	Upstreams []ident.Task // none: a source task
	// Restored is the checkpoint that the stage goes on from, whose commit may be undone; 0: none.
	Restored ident.CheckpointID
	// Complete and Settled are the newest complete one and the newest complete or failed one. Complete is above Restored
	// after a recovery that went back further.
	Complete, Settled ident.CheckpointID
}

// Core is one task's side of the checkpoints of its stage.
type Core struct {
	stage     ident.Stage
	upstreams []ident.Task
	complete  ident.CheckpointID
	settled   ident.CheckpointID
	answered  answered
	part      *part // under way; nil: none
	// forwarded is the newest checkpoint whose trigger was sent on.
	forwarded request
	// kept are the checkpoints reported done that have no verdict yet, rising.
	kept   []ident.CheckpointID
	report *reporting // of the last part, until it is settled; nil: none
	commit committing
	out    []Effect
}

// part is this task's part of the checkpoint under way.
type part struct {
	id       ident.CheckpointID
	tx       ident.TxID
	deadline ident.MonoMs
	phase    phase
	missing  []ident.Task // triggers not in yet
	askAt    ident.MonoMs
}

type phase uint8

const (
	aligning phase = 1 + iota // some triggers are in
	writing                   // frozen and sent on
)

// New returns the core of a task that has taken no checkpoint.
func New(c Config) *Core {
	return &Core{
		stage: c.Stage, upstreams: c.Upstreams, complete: c.Complete, settled: max(c.Settled, c.Complete),
		commit: committing{owed: c.Restored},
	}
}

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call. An
// error is a broken promise of the coordinator.
func (c *Core) Step(e Event) ([]Effect, error) {
	c.out = c.out[:0]
	var err error
	switch e := e.(type) {
	case Requested:
		c.requested(e)
	case Began:
		c.began(e)
	case TriggerIn:
		c.triggerIn(e)
	case AllIn:
		c.allIn(e)
	case TriggerAnswered:
		c.triggerAnswered(e)
	case Written:
		c.written(e)
	case WriteFailed:
		if c.writing(e.Checkpoint) {
			c.fail(e.Failure, e.Now)
		}
	case Settled:
		err = c.verdict(e)
	case Committed:
		c.hasCommitted(e)
	case CommitFailed:
		c.commit.running, c.commit.again = false, e.Now+ident.MonoMs(CommitRetry.Milliseconds())
	case ReportAgain:
		c.repeat(e.Now)
	case Tick:
		c.tick(e.Now)
	}
	return c.out, err
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// tick ends what has had its time, asks for what is missing, repeats what has no answer.
func (c *Core) tick(now ident.MonoMs) {
	switch p := c.part; {
	case p == nil:
	case now >= p.deadline:
		c.fail(Failure{Code: CodeTimeout, Detail: p.late()}, now)
	case p.phase == aligning && now >= p.askAt:
		p.askAt = now + ident.MonoMs(AskAfter.Milliseconds())
		c.emit(AskTriggers{Checkpoint: p.id, Tx: p.tx, From: p.missing})
	}
	if r := c.report; r != nil && now >= r.again {
		c.repeat(now)
	}
	c.commitNext(now)
}

// begin takes a checkpoint up. One that is under way has failed: the coordinator begins none before the last is settled.
func (c *Core) begin(p *part) {
	if c.part != nil {
		c.end(task.CheckpointFailed)
	}
	c.part, c.report = p, nil
	c.emit(Enter{task.GenCheckpoint})
}

// take does the task's part, now that nothing of before the barrier is missing.
func (c *Core) take() {
	p := c.part
	p.phase, p.missing, c.forwarded = writing, nil, request{p.id, p.tx}
	c.emit(Flush{p.id})
	c.emit(Freeze{Checkpoint: p.id, Tx: p.tx})
	c.emit(Forward{Checkpoint: p.id, Tx: p.tx, Deadline: p.deadline})
	c.emit(Write{p.id})
	if len(c.upstreams) > 0 {
		c.emit(OpenInputs{p.id})
	}
}

// end ends the part under way.
func (c *Core) end(e task.Event) {
	if e == task.CheckpointFailed && c.part.phase == writing {
		c.emit(Discard{c.part.id})
	}
	c.part = nil
	c.emit(Enter{e})
}

// fail ends the part under way as failed, and says so. A receiver opens its inputs by itself.
func (c *Core) fail(f Failure, now ident.MonoMs) {
	p := c.part
	c.end(task.CheckpointFailed)
	c.say(Report{Checkpoint: p.id, Tx: p.tx, Failure: &f}, now)
	if p.phase == aligning {
		c.emit(Settle{p.id})
	}
}

func (c *Core) writing(id ident.CheckpointID) bool {
	return c.part != nil && c.part.id == id && c.part.phase == writing
}

// written reports the part. From here on only the coordinator decides about it.
func (c *Core) written(e Written) {
	if !c.writing(e.Checkpoint) {
		return // it was failed meanwhile
	}
	tx := c.part.tx
	c.end(task.CheckpointDone)
	c.kept = append(c.kept, e.Checkpoint)
	c.say(Report{Checkpoint: e.Checkpoint, Tx: tx}, e.Now)
}
