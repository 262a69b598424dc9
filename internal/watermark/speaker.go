package watermark

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// speaker tells the destinations of a task its watermark and whether it is idle: with the rows of a flush, at once where
// a window may close or idleness changes, and after TellWithin otherwise.
type speaker struct {
	dests     []destination
	nextEnd   func(ident.EventMs) ident.EventMs
	watermark ident.EventMs // never falls
	idle      bool
}

// destination is what one of them has been told.
type destination struct {
	task      ident.Task
	watermark ident.EventMs
	idle      bool
	at        ident.MonoMs // when it was last told anything
}

func newSpeaker(tasks []ident.Task, nextEnd func(ident.EventMs) ident.EventMs) speaker {
	s := speaker{nextEnd: nextEnd, watermark: ident.WatermarkNone}
	for _, t := range tasks {
		s.dests = append(s.dests, destination{task: t, watermark: ident.WatermarkNone})
	}
	return s
}

func (s *speaker) tasks() []ident.Task {
	tasks := make([]ident.Task, len(s.dests))
	for i := range s.dests {
		tasks[i] = s.dests[i].task
	}
	return tasks
}

// flush notes what the rows carry (Stamp), then tells the others.
func (s *speaker) flush(out []Effect, e Flush) []Effect {
	for i := range s.dests {
		if d := &s.dests[i]; slices.Contains(e.Data, d.task) {
			d.watermark, d.idle, d.at = s.watermark, false, e.Now
		}
	}
	return s.tick(out, e.Now)
}

// tick tells every destination that is due.
func (s *speaker) tick(out []Effect, now ident.MonoMs) []Effect {
	for i := range s.dests {
		if d := &s.dests[i]; s.due(d, now) {
			out = append(out, s.say(d, 0, now))
		}
	}
	return out
}

// ask tells every destination that the task is active again, with a question.
func (s *speaker) ask(out []Effect, q Question, now ident.MonoMs) []Effect {
	for i := range s.dests {
		out = append(out, s.say(&s.dests[i], q, now))
	}
	return out
}

func (s *speaker) say(d *destination, q Question, now ident.MonoMs) Effect {
	d.watermark, d.idle, d.at = s.watermark, s.idle, now
	return Say{To: d.task, Watermark: s.watermark, Idle: s.idle, Question: q}
}

func (s *speaker) due(d *destination, now ident.MonoMs) bool {
	if s.idle != d.idle {
		return true
	}
	if s.watermark <= d.watermark {
		return false
	}
	return s.closes(d.watermark) || int64(now-d.at) >= millis(TellWithin)
}

// closes tells whether a window may end between what a destination knows and the watermark. Its first watermark and the
// last one always count.
func (s *speaker) closes(known ident.EventMs) bool {
	if known == ident.WatermarkNone || s.watermark == ident.WatermarkEnd {
		return true
	}
	return s.nextEnd != nil && s.nextEnd(known) <= s.watermark
}

func (s *speaker) allTold() bool {
	for i := range s.dests {
		if s.dests[i].watermark != s.watermark {
			return false
		}
	}
	return true
}
