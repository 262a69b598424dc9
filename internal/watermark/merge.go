package watermark

import (
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// Merge is the watermark of a downstream task: the minimum over its upstreams, and what silence makes of it.
type Merge struct {
	windows    Windows
	closeAfter int64 // ms of silence before it moves the watermark; 0: off
	inputs     []input
	index      map[ident.Task]int
	told       speaker
	closed     ident.EventMs // what the last Advance said
	asked      asking
	finished   bool
	// lastHeard is when the last rows or active word came. A restored silence moves it back at the first event, whose
	// time is the first that the task knows.
	lastHeard ident.MonoMs
	hasHeard  bool
	restored  int64
	out       []Effect
}

// input is one upstream.
type input struct {
	task      ident.Task
	watermark ident.EventMs // the last finite one; also a restored one
	spoken    bool          // in this stage; until then it holds the minimum
	idle      bool
	finished  bool
}

// NewMerge returns the watermark of a task whose upstreams have not spoken.
func NewMerge(c MergeConfig) *Merge {
	m := &Merge{
		windows: c.Windows, closeAfter: millis(c.CloseIdleAfter),
		index: map[ident.Task]int{}, told: newSpeaker(c.Destinations, c.NextEnd),
	}
	for _, t := range c.Upstreams {
		in := input{task: t, watermark: ident.WatermarkNone}
		if c.Restored != nil {
			if w, ok := c.Restored.Upstreams[t]; ok {
				in.watermark = w
			}
		}
		m.index[t] = len(m.inputs)
		m.inputs = append(m.inputs, in)
	}
	if c.Restored != nil {
		m.told.watermark, m.restored = c.Restored.Watermark, c.Restored.SilenceMs
	}
	m.closed = m.told.watermark
	return m
}

// Watermark returns the task's watermark. It never falls.
func (m *Merge) Watermark() ident.EventMs { return m.told.watermark }

// Step advances the watermark by one event. The effects are to be obeyed in the order returned; the slice is valid until
// the next call. An error is a word of a task that is no upstream, or an event of Source.
func (m *Merge) Step(e Event) ([]Effect, error) {
	m.out = m.out[:0]
	switch e := e.(type) {
	case Heard:
		err := m.heard(e)
		return m.out, err
	case Answered:
		for _, q := range m.asked.answer(e) {
			m.emit(Answer{To: q.from, Question: q.number, Watermark: max(q.highest, m.told.watermark)})
		}
	case Flush:
		m.startClock(e.Now)
		m.advance(e.Now)
		m.emit(Stamp{Watermark: m.told.watermark})
		m.out = m.told.flush(m.out, e)
		m.finish()
	case Tick:
		m.startClock(e.Now)
		m.advance(e.Now)
		m.out = m.told.tick(m.out, e.Now)
		m.finish()
	default:
		return nil, fmt.Errorf("merged watermark: %T is no event of a downstream task", e)
	}
	return m.out, nil
}

func (m *Merge) emit(e Effect) { m.out = append(m.out, e) }

// heard takes a header in: first what its rows allow, then whether the upstream is idle behind them.
func (m *Merge) heard(e Heard) error {
	i, ok := m.index[e.From]
	if !ok {
		return fmt.Errorf("merged watermark: %s is no upstream", e.From)
	}
	m.startClock(e.Now)
	in := &m.inputs[i]
	// The first word of an upstream in a stage is that it is here: silence goes on over a restart (trap T12).
	here := !in.spoken && e.Watermark <= in.watermark
	if e.Rows > 0 || !e.Idle && !here {
		m.lastHeard = e.Now
	}
	if e.Watermark == ident.WatermarkEnd {
		in.finished = true // and keeps its last finite watermark
	} else {
		in.watermark = max(in.watermark, e.Watermark)
	}
	if e.Idle && !in.idle && !in.finished {
		// It was in the minimum up to this block: take what that gave, before it leaves.
		in.spoken = true
		m.raise(m.minimum())
	}
	in.spoken, in.idle = true, e.Idle
	m.advance(e.Now)
	if e.Question != 0 {
		m.question(e)
	}
	return nil
}

// question answers an upstream that comes back from idleness. From its word on it holds the minimum, so the answer stays
// true until its rows have come. A task without windows does not know what has been closed behind it and asks on.
func (m *Merge) question(e Heard) {
	if m.windows == Windowed || len(m.told.dests) == 0 {
		m.emit(Answer{To: e.From, Question: e.Question, Watermark: m.told.watermark})
		return
	}
	q := m.asked.begin(m.told.tasks())
	m.asked.open[q].from, m.asked.open[q].number = e.From, e.Question
	m.out = m.told.ask(m.out, q, e.Now)
}

func (m *Merge) startClock(now ident.MonoMs) {
	if !m.hasHeard {
		m.hasHeard, m.lastHeard = true, now-ident.MonoMs(m.restored)
	}
}

// advance raises the watermark to what the upstreams and the silence allow now.
func (m *Merge) advance(now ident.MonoMs) {
	w, rule := m.target(now)
	m.raise(w)
	m.told.idle = rule == RuleSilence || rule == RuleIdleOff
	if m.told.watermark != m.closed {
		m.closed = m.told.watermark
		m.emit(Advance{Watermark: m.closed})
	}
}

func (m *Merge) raise(w ident.EventMs) { m.told.watermark = max(m.told.watermark, w) }

// target returns where the watermark should be, and by which rule of DESIGN §6.
func (m *Merge) target(now ident.MonoMs) (ident.EventMs, Rule) {
	here, idleOnes := 0, 0
	for i := range m.inputs {
		switch in := &m.inputs[i]; {
		case in.finished:
		case in.spoken && in.idle:
			idleOnes++
		default:
			here++
		}
	}
	switch {
	case here > 0:
		return m.minimum(), RuleMinimum
	case idleOnes == 0:
		return ident.WatermarkEnd, RuleFinished
	case m.closeAfter == 0:
		return m.told.watermark, RuleIdleOff
	default:
		return m.bySilence(now), RuleSilence
	}
}

// minimum over the upstreams that are neither idle nor finished; none while one of them has not spoken.
func (m *Merge) minimum() ident.EventMs {
	low := ident.WatermarkEnd
	for i := range m.inputs {
		switch in := &m.inputs[i]; {
		case in.finished, in.spoken && in.idle:
		case !in.spoken:
			return ident.WatermarkNone
		default:
			low = min(low, in.watermark)
		}
	}
	return low
}

// bySilence is the highest finite watermark of all upstreams, moved on by the part of the silence that exceeds
// closeAfter. Silence counts from the last rows, not from the word `idle`, which only comes an idle timeout later.
func (m *Merge) bySilence(now ident.MonoMs) ident.EventMs {
	high := ident.WatermarkNone
	for i := range m.inputs {
		high = max(high, m.inputs[i].watermark)
	}
	if high == ident.WatermarkNone {
		return high
	}
	return high + ident.EventMs(max(0, m.silence(now)-m.closeAfter))
}

func (m *Merge) silence(now ident.MonoMs) int64 { return int64(now - m.lastHeard) }

func (m *Merge) finish() {
	if !m.finished && m.told.watermark == ident.WatermarkEnd && m.told.allTold() {
		m.finished = true
		m.emit(Finished{})
	}
}
