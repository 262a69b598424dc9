package align

import (
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// request names a request, and the triggers that follow from it; a repetition has the same name.
type request struct {
	id ident.CheckpointID
	tx ident.TxID
}

// answered is what requests were answered for good: a repetition gets the same answer.
type answered struct {
	taken   request
	refused request // the newest one
	failure Failure // of refused
}

// newest is the highest id that was answered.
func (a *answered) newest() ident.CheckpointID { return max(a.taken.id, a.refused.id) }

// requested is the source task's side of the coordinator's request.
func (c *Core) requested(e Requested) {
	r := request{e.Checkpoint, e.Tx}
	switch {
	case e.Stage != c.stage:
		c.emit(Refused{Checkpoint: r.id, Tx: r.tx, Failure: Failure{Code: CodeOtherStage}})
	case r == c.answered.taken:
		c.emit(Taken{Checkpoint: r.id, Tx: r.tx})
		if c.report != nil && c.report.Checkpoint == r.id {
			c.repeat(e.Now) // who asks again may be another coordinator
		}
	case r == c.answered.refused:
		c.emit(Refused{Checkpoint: r.id, Tx: r.tx, Failure: c.answered.failure})
	case r.id <= max(c.answered.newest(), c.settled):
		c.emit(Refused{Checkpoint: r.id, Tx: r.tx, Failure: Failure{Code: CodeVoid}})
	case len(c.upstreams) > 0:
		c.refuse(r, Failure{Code: CodeNoSource})
	case c.part != nil:
		c.refuse(r, Failure{Code: CodeBusy, Detail: fmt.Sprintf("checkpoint %d is being taken", c.part.id)})
	case e.Unready != "":
		c.refuse(r, Failure{Code: CodeNotReady, Detail: e.Unready})
	default:
		c.answered.taken = r
		c.emit(Taken{Checkpoint: r.id, Tx: r.tx})
		c.begin(&part{id: r.id, tx: r.tx, deadline: e.Deadline})
		c.take()
	}
}

// refuse takes no part in the checkpoint, now or later.
func (c *Core) refuse(r request, f Failure) {
	c.answered.refused, c.answered.failure = r, f
	c.emit(Refused{Checkpoint: r.id, Tx: r.tx, Failure: f})
}
