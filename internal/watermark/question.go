package watermark

import (
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// asking keeps the questions for floors that a task has put to its destinations. The zero value is ready.
type asking struct {
	last Question
	open map[Question]*question
}

// question is one that not every destination has answered yet.
type question struct {
	missing map[ident.Task]bool
	highest ident.EventMs
	// from and number are the upstream's question that this one passes on (Merge only).
	from   ident.Task
	number Question
}

func (a *asking) pending() bool { return len(a.open) > 0 }

// begin numbers a question to the destinations.
func (a *asking) begin(dests []ident.Task) Question {
	a.last++
	q := &question{missing: make(map[ident.Task]bool, len(dests)), highest: ident.WatermarkNone}
	for _, d := range dests {
		q.missing[d] = true
	}
	if a.open == nil {
		a.open = map[Question]*question{}
	}
	a.open[a.last] = q
	return a.last
}

// answer takes an answer in and returns the questions that no destination has left open by it, in order. It answers
// the question and all earlier ones of the same destination: it has held the minimum since the first, so its later
// watermark covers them. Answers to no open question, and a destination's second one, change nothing.
func (a *asking) answer(e Answered) []*question {
	if e.Question > a.last {
		return nil
	}
	var complete []*question
	for _, n := range slices.Sorted(maps.Keys(a.open)) {
		q := a.open[n]
		if n > e.Question || !q.missing[e.From] {
			continue
		}
		delete(q.missing, e.From)
		q.highest = max(q.highest, e.Watermark)
		if len(q.missing) == 0 {
			delete(a.open, n)
			complete = append(complete, q)
		}
	}
	return complete
}
