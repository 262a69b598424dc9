package dispatch

import "github.com/pondage/pondage/internal/ident"

// Pair is an edge between two tasks that the handshake names.
type Pair struct{ Upstream, Downstream ident.Task }

// Check is one check-downstream call: all task pairs of a stream between two nodes.
type Check struct {
	Stream ident.StreamID
	Stage  ident.Stage
	From   ident.Place
	To     ident.Place
	Pairs  []Pair
}

// Verdict of a check-downstream call.
type Verdict string

// The verdicts.
const (
	VerdictReady      Verdict = "ready"
	VerdictNotReady   Verdict = "not_ready"
	VerdictNewStage   Verdict = "new_stage"
	VerdictNoSuchTask Verdict = "no_such_task"
)

// CheckAnswer answers a Check. It is void unless stream, stage and place are those of the call.
type CheckAnswer struct {
	Stream  ident.StreamID
	Stage   ident.Stage // of the call
	From    ident.Place // the answering node
	Verdict Verdict
}

// Handshake is the asking side: one stream in one stage, one receiving node. A task is ready once the handshakes of all
// its downstreams are.
type Handshake struct {
	check  Check
	state  askState
	since  ident.MonoMs // of the call under way, or of the pause
	silent int
	out    []HandshakeEffect
}

type askState uint8

const (
	askNew askState = iota
	askCalled
	askPausing
	askEnded
)

// HandshakeEvent is what Handshake.Step takes.
type HandshakeEvent interface{ handshakeEvent() }

// CheckTick passes time; the first one makes the first call.
type CheckTick struct{ Now ident.MonoMs }

// CheckAnswered is the answer to the call under way.
type CheckAnswered struct {
	Answer CheckAnswer
	Now    ident.MonoMs
}

// CheckFailed says that the call brought no answer (refused, reset, deadline).
type CheckFailed struct{ Now ident.MonoMs }

func (CheckTick) handshakeEvent()     {}
func (CheckAnswered) handshakeEvent() {}
func (CheckFailed) handshakeEvent()   {}

// HandshakeEffect is what Handshake.Step returns; to be obeyed in the order returned.
type HandshakeEffect interface{ handshakeEffect() }

// Call makes the call, with HandshakeDeadline.
type Call struct{ Check Check }

// Ready says that all receivers of the pairs have their position.
type Ready struct{ Pairs []Pair }

// SilentRound reports that the peer did not answer; the first one at once. From HandshakeRounds on, Update is true: the
// peer goes on the node-update list.
type SilentRound struct {
	Peer   ident.Place
	Round  int
	Update bool
}

// PeerBack ends the silence: the peer comes off the list.
type PeerBack struct{ Peer ident.Place }

func (Call) handshakeEffect()        {}
func (Ready) handshakeEffect()       {}
func (SilentRound) handshakeEffect() {}
func (PeerBack) handshakeEffect()    {}
func (NeedReset) handshakeEffect()   {}

// NewHandshake returns the asking side of a handshake.
func NewHandshake(c Check) *Handshake { return &Handshake{check: c} }

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call.
func (h *Handshake) Step(e HandshakeEvent) []HandshakeEffect {
	h.out = h.out[:0]
	if h.state == askEnded {
		return nil
	}
	switch e := e.(type) {
	case CheckTick:
		h.tick(e.Now)
	case CheckAnswered:
		h.answered(e)
	case CheckFailed:
		if h.state == askCalled {
			h.noAnswer(e.Now)
		}
	}
	return h.out
}

func (h *Handshake) emit(e HandshakeEffect) { h.out = append(h.out, e) }

func (h *Handshake) tick(now ident.MonoMs) {
	waited := int64(now - h.since)
	switch {
	case h.state == askNew, h.state == askPausing && waited >= HandshakePause.Milliseconds():
		h.state, h.since = askCalled, now
		h.emit(Call{Check: h.check})
	case h.state == askCalled && waited >= HandshakeDeadline.Milliseconds():
		h.noAnswer(now)
	}
}

// noAnswer counts a silent round; the peer is asked again without end, since only the metastore can say that it is gone.
func (h *Handshake) noAnswer(now ident.MonoMs) {
	h.silent++
	h.emit(SilentRound{Peer: h.check.To, Round: h.silent, Update: h.silent >= HandshakeRounds})
	h.state, h.since = askPausing, now
}

func (h *Handshake) answered(e CheckAnswered) {
	a := e.Answer
	if h.state != askCalled || a.Stream != h.check.Stream || a.Stage != h.check.Stage {
		return
	}
	if a.From != h.check.To {
		h.noAnswer(e.Now) // another instance has taken the address: the one that was placed is gone
		return
	}
	if h.silent > 0 {
		h.silent = 0
		h.emit(PeerBack{Peer: h.check.To})
	}
	switch a.Verdict {
	case VerdictReady:
		h.state = askEnded
		h.emit(Ready{Pairs: h.check.Pairs})
	case VerdictNewStage:
		h.end(ReasonNewStage)
	case VerdictNoSuchTask:
		h.end(ReasonNoSuchTask)
	case VerdictNotReady:
		h.state, h.since = askPausing, e.Now
	}
}

func (h *Handshake) end(r Reason) {
	h.state = askEnded
	n := NeedReset{Stage: h.check.Stage, Peer: Peer{Place: h.check.To}, Reason: r}
	if len(h.check.Pairs) > 0 {
		n.Peer.Task = h.check.Pairs[0].Downstream
	}
	h.emit(n)
}
