package watermark

import "github.com/pondage/pondage/internal/ident"

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

// answer takes an answer in and returns the question when it was the last one missing. Answers to no open question, and
// a destination's second one, change nothing.
func (a *asking) answer(e Answered) *question {
	q := a.open[e.Question]
	if q == nil || !q.missing[e.From] {
		return nil
	}
	delete(q.missing, e.From)
	q.highest = max(q.highest, e.Watermark)
	if len(q.missing) > 0 {
		return nil
	}
	delete(a.open, e.Question)
	return q
}
