package align

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// began is the first trigger of a checkpoint. One that the verdict on it has overtaken on the way here is over already,
// and its inputs have opened with that verdict.
func (c *Core) began(e Began) {
	if e.Checkpoint <= c.settled {
		return
	}
	c.begin(&part{
		id: e.Checkpoint, tx: e.Tx, deadline: e.Deadline, phase: aligning, missing: slices.Clone(c.upstreams),
		askAt: e.Now + ident.MonoMs(AskAfter.Milliseconds()),
	})
}

func (c *Core) aligning(id ident.CheckpointID) bool {
	return c.part != nil && c.part.id == id && c.part.phase == aligning
}

func (c *Core) triggerIn(e TriggerIn) {
	if c.aligning(e.Checkpoint) {
		c.part.missing = slices.DeleteFunc(c.part.missing, func(t ident.Task) bool { return t == e.From })
	}
}

func (c *Core) allIn(e AllIn) {
	if c.aligning(e.Checkpoint) {
		c.take()
	}
}

// Position is a place in the channel from an upstream to this task.
type Position struct {
	Msg    ident.MsgID
	Offset ident.NextOffset // of the partition; NoOffset: the broker has not answered yet
}

// NoOffset is the offset of a trigger that has its number and is not known to be appended.
const NoOffset ident.NextOffset = -1

// Status is what an upstream says of a trigger.
type Status string

// The answers of DESIGN §7.
const (
	StatusSent       Status = "sent"
	StatusWaiting    Status = "waiting"     // for triggers of its own upstreams
	StatusNotRunning Status = "not_running" // it takes no such checkpoint
)

// Answer is what an upstream says of its trigger of a checkpoint.
type Answer struct {
	Status  Status
	At      Position     // of a trigger that was sent
	Waiting []ident.Task // what it waits for
}

// Trigger answers a downstream's question for this task's trigger. Where it is, the shell adds (it has the sender).
func (c *Core) Trigger(id ident.CheckpointID, tx ident.TxID) Answer {
	switch {
	case c.aligning(id) && c.part.tx == tx:
		return Answer{Status: StatusWaiting, Waiting: slices.Clone(c.part.missing)}
	case c.forwarded == request{id, tx}:
		return Answer{Status: StatusSent, At: Position{Offset: NoOffset}}
	}
	return Answer{Status: StatusNotRunning}
}

// triggerAnswered fails the checkpoint when the trigger cannot come any more.
func (c *Core) triggerAnswered(e TriggerAnswered) {
	if !c.aligning(e.Checkpoint) || !slices.Contains(c.part.missing, e.From) {
		return // it came meanwhile
	}
	at := e.Answer.At
	switch e.Answer.Status {
	case StatusNotRunning:
		c.fail(Failure{Code: CodeNotRunning, Detail: e.From.String()}, e.Now)
	case StatusSent:
		if at.Msg <= e.Mine.Msg || at.Offset != NoOffset && at.Offset < e.Mine.Offset {
			detail := fmt.Sprintf("%s sent it as message %d at offset %d, this task is at message %d, offset %d", e.From, at.Msg, at.Offset, e.Mine.Msg, e.Mine.Offset)
			c.fail(Failure{Code: CodeLost, Detail: detail}, e.Now)
		}
	case StatusWaiting:
	}
}
