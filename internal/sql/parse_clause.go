package sql

import (
	"sort"
	"strconv"
	"strings"
)

func (p *parser) interval(s *Select, start token) {
	w := &IntervalWindow{}
	p.expectOp("(")
	w.Size = p.duration()
	if p.acceptOp(",") {
		offset := p.duration()
		w.Offset = &offset
	}
	p.expectOp(")")
	if p.acceptWord("sliding") {
		step := parenthesised(p, p.duration)
		w.Sliding = &step
	}
	w.At = p.since(start.at)
	s.Window = w
}

func (p *parser) session(s *Select, start token) {
	gap := parenthesised(p, p.duration)
	s.Window = &SessionWindow{Gap: gap, At: p.since(start.at)}
}

func (p *parser) stateWindow(s *Select, start token) {
	col := parenthesised(p, p.expr)
	s.Window = &StateWindow{Col: col, At: p.since(start.at)}
}

func (p *parser) eventWindow(s *Select, start token) {
	w := &EventWindow{}
	p.expectWord("start")
	p.expectWord("with")
	w.Start = p.expr()
	p.expectWord("end")
	p.expectWord("with")
	w.End = p.expr()
	w.At = p.since(start.at)
	s.Window = w
}

func (p *parser) countWindow(s *Select, start token) {
	w := &CountWindow{}
	p.expectOp("(")
	w.Count = p.integer("a number of rows")
	if p.acceptOp(",") {
		step := p.integer("a number of rows")
		w.Step = &step
	}
	p.expectOp(")")
	w.At = p.since(start.at)
	s.Window = w
}

func (p *parser) integer(what string) int64 {
	t := p.peek()
	n, err := strconv.ParseInt(p.integerText(what), 10, 64)
	if err != nil {
		panic(bailout{syntaxError(t.at, "number "+clip(t.text)+" is out of range", "")})
	}
	return n
}

func (p *parser) timezone(s *Select) {
	t := p.stringText("the name of a zone such as 'Europe/Berlin'")
	s.Timezone = &Name{Text: t.text, At: t.at}
}

func (p *parser) durationClause(start token) *DurationClause {
	d := p.duration()
	return &DurationClause{Duration: d, At: p.since(start.at)}
}

func (p *parser) lateness(s *Select, start token) {
	c := &LatenessClause{Unbounded: p.acceptWord("unbounded")}
	if !c.Unbounded {
		if t := p.peek(); t.kind == tokenWord {
			p.failWords(t, "unbounded")
		}
		c.Duration = p.duration()
	}
	c.At = p.since(start.at)
	s.Lateness = c
}

func (p *parser) trigger(s *Select, start token) {
	t := p.peek()
	for mode, text := range triggerText {
		if !t.isWord(strings.ToLower(text)) {
			continue
		}
		p.pos++
		c := &TriggerClause{Mode: TriggerMode(mode)}
		if c.Mode.TakesDuration() {
			c.Every = p.duration()
		}
		c.At = p.since(start.at)
		s.Trigger = c
		return
	}
	p.failWords(t, lowered(triggerText[:])...)
}

var fillModes = map[string]FillMode{"null": FillNull, "value": FillValue, "prev": FillPrev, "next": FillNext, "linear": FillLinear}

func (p *parser) fill(s *Select, start token) {
	p.expectOp("(")
	t := p.peek()
	mode, ok := fillModes[t.text]
	if t.kind != tokenWord || !ok {
		words := make([]string, 0, len(fillModes))
		for w := range fillModes {
			words = append(words, w)
		}
		sort.Strings(words)
		p.failWords(t, words...)
	}
	p.pos++
	c := &FillClause{Mode: mode}
	if mode == FillValue {
		p.expectOp(",")
		c.Values = list(p, p.expr)
	}
	p.expectOp(")")
	c.At = p.since(start.at)
	s.Fill = c
}

func (p *parser) history(s *Select, start token) {
	c := &HistoryClause{}
	if p.acceptWord("from") {
		t := p.stringText("a time such as '2026-01-01T00:00:00Z'")
		c.From = &Literal{Kind: LiteralString, Text: t.text, At: t.at}
	}
	c.At = p.since(start.at)
	s.History = c
}

func lowered(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}
