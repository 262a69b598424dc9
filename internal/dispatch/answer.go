package dispatch

import "github.com/pondage/pondage/internal/ident"

// endings are the results and notices that end the stage.
var (
	endingResults = map[Result]Reason{ResultRefused: ReasonRefused, ResultNoSuchTask: ReasonNoSuchTask, ResultNewStage: ReasonNewStage}
	endingNotices = map[NoticeKind]Reason{NoticeRefused: ReasonRefused, NoticeNoSuchTask: ReasonNoSuchTask}
)

// sent takes an answer of the broker or of a local receiver. One of another stage, or about messages that are not under
// way, is ignored: it is late word of a request that has been answered since.
func (s *Sender) sent(e Sent) error {
	d, err := s.entry(e.To)
	if err != nil {
		return err
	}
	if e.Stage != s.self.Stage || !d.concerns(e.First, e.Last) {
		return nil
	}
	if r, over := endingResults[e.Result]; over {
		s.end(d, r)
		return nil
	}
	switch e.Result {
	case ResultOK:
		s.delivered(d, e)
	case ResultError:
		d.fail(statusFailed, e.Now)
	case ResultBlocked:
		d.fail(statusBlocked, e.Now)
	}
	s.updatePause()
	return nil
}

func (s *Sender) delivered(d *entry, e Sent) {
	if d.status == statusBlocked {
		d.status, d.sentAt = statusSent, e.Now // the receiver takes again
	}
	if freed, more := d.ack(e.First, e.Last); more {
		s.emit(Delivered{To: d.peer.Task, UpTo: d.answered, Freed: freed})
	}
	s.pump(d, e.Now)
}

// fail plans the repetition of the request. A second failure of the same attempt changes nothing: a request may be
// answered message by message.
func (d *entry) fail(st status, now ident.MonoMs) {
	if d.status == statusFailed || d.status == statusBlocked {
		return
	}
	d.status = st
	d.retryAt = now + backoff(d.attempt)
}

// backoff doubles with each attempt, up to RetryBackoffMax.
func backoff(attempt int) ident.MonoMs {
	wait := RetryBackoff
	for range attempt - 1 {
		if wait *= 2; wait >= RetryBackoffMax {
			wait = RetryBackoffMax
			break
		}
	}
	return ident.MonoMs(wait.Milliseconds())
}

// credited takes what a receiving node says. Void unless stream, stage, task and place are those of this sender.
func (s *Sender) credited(c Credited) {
	n := &c.Entry
	d := s.index[n.Task]
	if d == nil || n.Stream != s.self.Stream || n.Stage != s.self.Stage || n.Upstream != s.self.Task || c.From != d.peer.Place {
		return
	}
	d.life.heard = c.Now
	woken := d.life.silent
	if woken {
		d.life.silent = false
		s.emit(HeardPeer{Place: d.life.place})
	}
	if r, over := endingNotices[n.Notice]; over {
		s.end(d, r)
		return
	}
	if n.Question != 0 {
		s.emit(FloorAnswer{From: n.Task, Question: n.Question, Watermark: n.Watermark})
	}
	if d.consume(n.Consumed) || woken {
		s.drainAll(c.Now)
	}
}

// tick repeats what failed and is due, or was not answered for too long, and finds nodes that have gone silent.
func (s *Sender) tick(now ident.MonoMs) {
	for _, l := range s.peers {
		if !l.silent && int64(now-l.heard) > CreditSilence.Milliseconds() {
			l.silent = true
			s.emit(SilentPeer{Place: l.place})
		}
	}
	for _, d := range s.entries {
		if d.due(now) {
			d.attempt++
			d.sentAt = now
			if d.status == statusFailed {
				d.status = statusSent
			}
			d.retryAt = now + backoff(d.attempt) // of a blocked one, which keeps its status until the receiver takes
			s.emit(Repeat{To: d.peer.Task, First: d.first(), Last: d.last(), Attempt: d.attempt})
		}
	}
}

func (d *entry) due(now ident.MonoMs) bool {
	switch d.status {
	case statusSent:
		return int64(now-d.sentAt) > UnansweredAfter.Milliseconds()
	case statusFailed, statusBlocked:
		return now >= d.retryAt
	case statusQuiet:
	}
	return false
}
