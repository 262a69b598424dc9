package dispatch

import (
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// Mistakes of the shell. ErrTooLarge is a named error of the task: the message can never be sent.
var (
	ErrFlushOpen = errors.New("a flush is still waiting for credit")
	ErrTooLarge  = errors.New("message is larger than dispatch.max_batch")
	ErrNoPeer    = errors.New("not a destination of this task")
)

// SenderConfig is what a sender knows from the placement of its stage.
type SenderConfig struct {
	Self         Self
	Destinations []Peer
	// MaxBatch in bytes; the constant MaxBatch when 0.
	MaxBatch int
}

// Sender numbers and sends the messages of one task on one edge, within one stage.
type Sender struct {
	self     Self
	maxBatch int
	entries  []*entry
	index    map[ident.Task]*entry
	peers    []*peerLife
	paused   bool
	over     bool
	out      []SendEffect
}

// peerLife is whether a receiving node gives signs of life.
type peerLife struct {
	place  ident.Place
	heard  ident.MonoMs
	silent bool
}

// NewSender returns a sender whose destinations were all found ready at the given time.
func NewSender(c SenderConfig, now ident.MonoMs) *Sender {
	s := &Sender{self: c.Self, maxBatch: c.MaxBatch, index: map[ident.Task]*entry{}}
	if s.maxBatch == 0 {
		s.maxBatch = MaxBatch
	}
	for _, d := range c.Destinations {
		e := &entry{peer: d, life: s.life(d.Place, now), watermark: ident.WatermarkNone}
		s.entries = append(s.entries, e)
		s.index[d.Task] = e
	}
	return s
}

func (s *Sender) life(p ident.Place, now ident.MonoMs) *peerLife {
	for _, l := range s.peers {
		if l.place == p {
			return l
		}
	}
	l := &peerLife{place: p, heard: now}
	s.peers = append(s.peers, l)
	return l
}

// Over tells whether the stage is over for this task: it takes part in no further checkpoint of it.
func (s *Sender) Over() bool { return s.over }

// Taking tells whether a Flush may be handed over.
func (s *Sender) Taking() bool { return !s.paused && !s.over }

// Settled tells whether everything that was handed over is delivered: nothing waits for credit or for an answer.
func (s *Sender) Settled() bool {
	for _, d := range s.entries {
		if len(d.waiting) > 0 || d.hasWord || len(d.queue) > 0 {
			return false
		}
	}
	return true
}

// Step takes an event in. The effects are to be obeyed in the order returned; the slice is valid until the next call.
// Errors are ErrFlushOpen, ErrTooLarge and ErrNoPeer, wrapped; nothing has changed then.
func (s *Sender) Step(e SendEvent) ([]SendEffect, error) {
	s.out = s.out[:0]
	if s.over {
		return nil, nil
	}
	var err error
	switch e := e.(type) {
	case Flush:
		err = s.flush(e)
	case Speak:
		err = s.speak(e)
	case Control:
		err = s.control(e)
	case Sent:
		err = s.sent(e)
	case Credited:
		s.credited(e)
	case SenderTick:
		s.tick(e.Now)
	case StageOver:
		s.over = true
	}
	return s.out, err
}

func (s *Sender) emit(e SendEffect) { s.out = append(s.out, e) }

func (s *Sender) entry(t ident.Task) (*entry, error) {
	if e := s.index[t]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("dispatch from %s to %s: %w", s.self.Task, t, ErrNoPeer)
}

// flush takes the messages over, whole or not at all; what finds no credit is the task's one open flush.
func (s *Sender) flush(e Flush) error {
	if s.paused {
		return fmt.Errorf("dispatch from %s: %w", s.self.Task, ErrFlushOpen)
	}
	for i := range e.Messages {
		m := &e.Messages[i]
		if _, err := s.entry(m.To); err != nil {
			return err
		}
		if m.Bytes > s.maxBatch {
			return fmt.Errorf("dispatch from %s to %s: %d bytes, limit %d: %w", s.self.Task, m.To, m.Bytes, s.maxBatch, ErrTooLarge)
		}
	}
	for _, m := range e.Messages {
		s.index[m.To].wait(m)
	}
	s.drainAll(e.Now)
	return nil
}

// speak lets a word ride on the rows that wait for this destination, else sends it, or keeps it until there is credit.
func (s *Sender) speak(e Speak) error {
	d, err := s.entry(e.To)
	if err != nil {
		return err
	}
	d.say(e)
	s.drain(d, e.Now)
	return nil
}

// control goes to every destination, behind what waits for it. Neither asks for credit: the overdraft is at most one
// flush, and a checkpoint waits for no more than credit has let through already.
func (s *Sender) control(e Control) error {
	if !control(e.Message.Type) {
		return fmt.Errorf("dispatch from %s: message type %d is no control message", s.self.Task, e.Message.Type)
	}
	for _, d := range s.entries {
		d.numberAll()
		m := e.Message
		m.To, m.Watermark, m.Idle = d.peer.Task, d.watermark, d.idle
		d.number(m)
		s.pump(d, e.Now)
	}
	s.updatePause()
	return nil
}

func (s *Sender) drainAll(now ident.MonoMs) {
	for _, d := range s.entries {
		s.drain(d, now)
	}
	s.updatePause()
}

// drain numbers what has credit and keeps the destination's request going.
func (s *Sender) drain(d *entry, now ident.MonoMs) {
	d.numberCredited()
	s.pump(d, now)
}

// pump starts the next request of a destination once the one before is answered.
func (s *Sender) pump(d *entry, now ident.MonoMs) {
	if d.inFlight > 0 || len(d.queue) == 0 {
		return
	}
	s.emit(Produce{To: d.peer.Task, Messages: d.begin(s.maxBatch, now)})
}

func (s *Sender) updatePause() {
	want := false
	for _, d := range s.entries {
		want = want || len(d.waiting) > 0 || d.status == statusBlocked
	}
	if want == s.paused {
		return
	}
	s.paused = want
	if want {
		s.emit(PauseInput{})
	} else {
		s.emit(ResumeInput{})
	}
}

// end is the end of the stage for this task.
func (s *Sender) end(d *entry, r Reason) {
	s.over = true
	s.emit(NeedReset{Stage: s.self.Stage, Peer: d.peer, Reason: r})
}
