package dispatch

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Readiness is the answering side of the handshake, for a whole node. Calls are long polls: they wait until there is
// something to say.
type Readiness struct {
	self    ident.Place
	streams map[ident.StreamID]*streamReadiness
	calls   []heldCall
	// asked is the highest stage of a stream for which orders were asked.
	asked map[ident.StreamID]ident.Stage
	out   []ReadinessEffect
}

type streamReadiness struct {
	stage ident.Stage
	tasks map[ident.Task]bool // that run here → ready
}

// heldCall is a call that waits for its answer.
type heldCall struct {
	id    CallID
	check Check
	since ident.MonoMs
}

// CallID names a call that the shell keeps open.
type CallID uint64

// ReadinessEvent is what Readiness.Step takes.
type ReadinessEvent interface{ readinessEvent() }

// Checked is a call that has come.
type Checked struct {
	Call  CallID
	Check Check
	Now   ident.MonoMs
}

// StageKnown says that orders of a stage have come, and which of its tasks run here.
type StageKnown struct {
	Stream ident.StreamID
	Stage  ident.Stage
	Tasks  []ident.Task
}

// TaskReady says that a task has taken its partition's end as its position, and that its own downstreams are ready.
type TaskReady struct {
	Stream ident.StreamID
	Stage  ident.Stage
	Task   ident.Task
}

// StreamGone says that the stream runs here no longer.
type StreamGone struct{ Stream ident.StreamID }

// CallGone says that the asker has hung up.
type CallGone struct{ Call CallID }

// ReadinessTick passes time.
type ReadinessTick struct{ Now ident.MonoMs }

func (Checked) readinessEvent()       {}
func (StageKnown) readinessEvent()    {}
func (TaskReady) readinessEvent()     {}
func (StreamGone) readinessEvent()    {}
func (CallGone) readinessEvent()      {}
func (ReadinessTick) readinessEvent() {}

// ReadinessEffect is what Readiness.Step returns; to be obeyed in the order returned.
type ReadinessEffect interface{ readinessEffect() }

// Reply answers a call.
type Reply struct {
	Call   CallID
	Answer CheckAnswer
}

func (Reply) readinessEffect()     {}
func (AskOrders) readinessEffect() {}

// NewReadiness returns the answering side of the node at the place.
func NewReadiness(self ident.Place) *Readiness {
	return &Readiness{self: self, streams: map[ident.StreamID]*streamReadiness{}, asked: map[ident.StreamID]ident.Stage{}}
}

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call.
func (r *Readiness) Step(e ReadinessEvent) []ReadinessEffect {
	r.out = r.out[:0]
	switch e := e.(type) {
	case Checked:
		r.checked(e)
	case StageKnown:
		r.known(e)
	case TaskReady:
		r.taskReady(e)
	case StreamGone:
		delete(r.streams, e.Stream)
		delete(r.asked, e.Stream)
	case CallGone:
		r.calls = slices.DeleteFunc(r.calls, func(c heldCall) bool { return c.id == e.Call })
	case ReadinessTick:
		r.expire(e.Now)
	}
	return r.out
}

func (r *Readiness) checked(e Checked) {
	c := heldCall{id: e.Call, check: e.Check, since: e.Now}
	if v := r.verdict(c.check); v != "" {
		r.reply(c, v)
		return
	}
	s := r.streams[e.Check.Stream]
	if s == nil || s.stage < e.Check.Stage {
		r.askOrders(e.Check)
	}
	r.calls = append(r.calls, c)
}

// verdict returns what can be said at once; "" when the call has to wait.
func (r *Readiness) verdict(c Check) Verdict {
	s := r.streams[c.Stream]
	switch {
	case c.To != r.self:
		return VerdictNoSuchTask // the asker finds another place in the answer
	case s == nil || c.Stage > s.stage:
		return ""
	case c.Stage < s.stage:
		return VerdictNewStage
	}
	for _, p := range c.Pairs {
		if !s.tasks[p.Downstream] {
			return ""
		}
	}
	return VerdictReady
}

// askOrders asks once for each stage seen: the orders are usually on their way.
func (r *Readiness) askOrders(c Check) {
	if r.asked[c.Stream] < c.Stage {
		r.asked[c.Stream] = c.Stage
		r.out = append(r.out, AskOrders{Stream: c.Stream, Seen: c.Stage})
	}
}

func (r *Readiness) known(e StageKnown) {
	if s := r.streams[e.Stream]; s != nil && s.stage >= e.Stage {
		return
	}
	s := &streamReadiness{stage: e.Stage, tasks: map[ident.Task]bool{}}
	for _, t := range e.Tasks {
		s.tasks[t] = false
	}
	r.streams[e.Stream] = s
	r.answerHeld()
}

func (r *Readiness) taskReady(e TaskReady) {
	s := r.streams[e.Stream]
	if s == nil || s.stage != e.Stage {
		return
	}
	if _, runs := s.tasks[e.Task]; runs {
		s.tasks[e.Task] = true
		r.answerHeld()
	}
}

func (r *Readiness) answerHeld() {
	r.calls = slices.DeleteFunc(r.calls, func(c heldCall) bool {
		v := r.verdict(c.check)
		if v != "" {
			r.reply(c, v)
		}
		return v != ""
	})
}

// expire ends the polls that have waited long enough: a stream or task that is still unknown by then does not exist here.
func (r *Readiness) expire(now ident.MonoMs) {
	r.calls = slices.DeleteFunc(r.calls, func(c heldCall) bool {
		if int64(now-c.since) < HandshakePoll.Milliseconds() {
			return false
		}
		if r.unknown(c.check) {
			r.reply(c, VerdictNoSuchTask)
		} else {
			r.reply(c, VerdictNotReady)
		}
		return true
	})
}

// unknown tells whether the call names a stream, or in my stage a task, that does not run here.
func (r *Readiness) unknown(c Check) bool {
	s := r.streams[c.Stream]
	if s == nil {
		return true
	}
	if s.stage != c.Stage {
		return false
	}
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		_, runs := s.tasks[p.Downstream]
		return !runs
	})
}

func (r *Readiness) reply(c heldCall, v Verdict) {
	r.out = append(r.out, Reply{Call: c.id, Answer: CheckAnswer{Stream: c.check.Stream, Stage: c.check.Stage, From: r.self, Verdict: v}})
}
