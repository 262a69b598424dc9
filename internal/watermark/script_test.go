package watermark

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// TestScripts runs testdata: each file is one task, from its `source` or `merge` command on. Event times, clocks and
// limits are in ms; -inf and end are WatermarkNone and WatermarkEnd.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

// script is the state of one file.
type script struct {
	src   *Source
	merge *Merge
	saved SourceState
	kept  MergeState
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	a := args{t, d}
	switch d.Cmd {
	case "source":
		s.newSource(a)
		return "ok"
	case "merge":
		s.newMerge(a)
		return "ok"
	case "save":
		if s.src != nil {
			s.saved = s.src.State()
			return fmt.Sprintf("watermark=%s asleep=%t", ms(s.saved.Watermark), s.saved.Asleep)
		}
		s.kept = s.merge.State(ident.MonoMs(a.num("now", 0)))
		return fmt.Sprintf("watermark=%s silence=%d", ms(s.kept.Watermark), s.kept.SilenceMs)
	case "observe":
		return s.observe(a)
	case "explain":
		return s.explain(a)
	}
	var effects []Effect
	var err error
	if s.src != nil {
		effects, err = s.src.Step(a.event())
	} else {
		effects, err = s.merge.Step(a.event())
	}
	return show(effects, err)
}

func (s *script) newSource(a args) {
	c := SourceConfig{
		Destinations: a.tasks("to"), Delay: a.dur("delay", 0), AllowedLateness: a.dur("allowed", 0),
		IdleTimeout: a.dur("idle", 0), TableTTL: a.dur("ttl", 0), WindowSpan: a.dur("windows", 0), NextEnd: a.nextEnd(),
	}
	if a.d.HasArg("by-table") {
		c.LateBy = LateByTable
	}
	if a.d.HasArg("restored") {
		c.Restored = &s.saved
	}
	s.src, s.merge = NewSource(c), nil
}

func (s *script) newMerge(a args) {
	c := MergeConfig{
		Upstreams: a.tasks("from"), Destinations: a.tasks("to"), CloseIdleAfter: a.dur("close", DefaultCloseIdleAfter), NextEnd: a.nextEnd(),
	}
	if a.d.HasArg("windowless") {
		c.Windows = Windowless
	}
	if a.d.HasArg("restored") {
		c.Restored = &s.kept
	}
	s.merge, s.src = NewMerge(c), nil
}

// observe shows the openFrom of each row: "late" when the end of its last window (end=, size of a tumbling window) is below it.
func (s *script) observe(a args) string {
	var ts []int64
	tables := block.NewColumn(block.String, 0)
	for _, row := range strings.Fields(a.d.Input) {
		name, at, ok := strings.Cut(row, "=")
		if !ok {
			name, at = "", row
		}
		v, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			a.t.Fatal(err)
		}
		ts = append(ts, v)
		tables.AppendString(name)
	}
	open := make([]ident.EventMs, len(ts))
	s.src.Track(ident.Partition(a.num("p", 0))).Observe(ts, tables, open)
	size := a.num("size", 10)
	var b strings.Builder
	for i, v := range ts {
		verdict := "counts"
		if end := floorDiv(v, size)*size + size; ident.EventMs(end) < open[i] {
			verdict = "late"
		}
		fmt.Fprintf(&b, "%d: open from %s, %s\n", v, ms(open[i]), verdict)
	}
	return b.String()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (s *script) explain(a args) string {
	var b strings.Builder
	if s.src != nil {
		info := s.src.Explain()
		fmt.Fprintf(&b, "watermark=%s idle=%t\n", ms(info.Watermark), info.Idle)
		for _, p := range info.Partitions {
			fmt.Fprintf(&b, "%d: %s watermark=%s floor=%s lag=%q holds=%t\n", p.Partition, p.Phase, ms(p.Watermark), ms(p.Floor), p.Lag, p.Holds)
		}
		return b.String()
	}
	info := s.merge.Explain(ident.MonoMs(a.num("now", 0)))
	fmt.Fprintf(&b, "watermark=%s rule=%s silence=%d\n", ms(info.Watermark), info.Rule, info.SilenceMs)
	for _, u := range info.Upstreams {
		fmt.Fprintf(&b, "%s: watermark=%s spoken=%t idle=%t finished=%t holds=%t\n", u.Task, ms(u.Watermark), u.Spoken, u.Idle, u.Finished, u.Holds)
	}
	return b.String()
}

// args reads the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) num(key string, def int64) int64 {
	arg, ok := a.d.Arg(key)
	if !ok {
		return def
	}
	switch v := arg.SingleVal(a.t); v {
	case "-inf":
		return int64(ident.WatermarkNone)
	case "end":
		return int64(ident.WatermarkEnd)
	default:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			a.t.Fatalf("%s: %s: %v", a.d.Pos, key, err)
		}
		return n
	}
}

func (a args) dur(key string, def time.Duration) time.Duration {
	if arg, ok := a.d.Arg(key); ok && arg.SingleVal(a.t) == "unbounded" {
		return Unbounded
	}
	return time.Duration(a.num(key, def.Milliseconds())) * time.Millisecond
}

func (a args) tasks(key string) []ident.Task {
	arg, ok := a.d.Arg(key)
	if !ok {
		return nil
	}
	var tasks []ident.Task
	for _, v := range arg.Vals {
		task, err := ident.ParseTask(v)
		if err != nil {
			a.t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func (a args) task(key string) ident.Task { return a.tasks(key)[0] }

// nextEnd is that of tumbling windows of the given size; nil without.
func (a args) nextEnd() func(ident.EventMs) ident.EventMs {
	size := a.num("windows", 0)
	if size == 0 {
		return nil
	}
	return func(after ident.EventMs) ident.EventMs {
		return ident.EventMs(floorDiv(int64(after), size)*size + size)
	}
}

func (a args) event() Event {
	now := ident.MonoMs(a.num("now", 0))
	p := ident.Partition(a.num("p", 0))
	switch a.d.Cmd {
	case "add":
		e := Added{Partition: p, Next: ident.NextOffset(a.num("next", 0)), Now: now}
		if a.d.HasArg("until") {
			e.Until = Until(ident.NextOffset(a.num("until", 0)))
		}
		return e
	case "fetched":
		e := Fetched{Partition: p, Records: int(a.num("n", 0)), Now: now}
		if arg, ok := a.d.Arg("lag"); ok {
			e.Lag = Lag(strings.ReplaceAll(arg.SingleVal(a.t), "-", " "))
		}
		return e
	case "processed":
		return Processed{Partition: p, Next: ident.NextOffset(a.num("next", 0))}
	case "flush":
		return Flush{Data: a.tasks("data"), Now: now}
	case "tick":
		return Tick{Now: now}
	case "answered":
		return Answered{From: a.task("from"), Question: Question(a.num("q", 0)), Watermark: ident.EventMs(a.num("w", 0)), Now: now}
	case "heard":
		return Heard{
			From: a.task("from"), Watermark: ident.EventMs(a.num("w", int64(ident.WatermarkNone))), Idle: a.d.HasArg("idle"),
			Question: Question(a.num("q", 0)), Rows: int(a.num("rows", 0)), Now: now,
		}
	}
	a.t.Fatalf("%s: unknown command %s", a.d.Pos, a.d.Cmd)
	return nil
}

func ms(w ident.EventMs) string {
	switch w {
	case ident.WatermarkNone:
		return "-inf"
	case ident.WatermarkEnd:
		return "end"
	}
	return strconv.FormatInt(int64(w), 10)
}

func show(effects []Effect, err error) string {
	var b strings.Builder
	for _, e := range effects {
		b.WriteString(showEffect(e) + "\n")
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	if b.Len() == 0 {
		return "(nothing)"
	}
	return b.String()
}

func showEffect(e Effect) string {
	switch e := e.(type) {
	case Wait:
		return fmt.Sprintf("wait p=%d", e.Partition)
	case Go:
		return fmt.Sprintf("go p=%d floor=%s", e.Partition, ms(e.Floor))
	case PartitionDone:
		return fmt.Sprintf("done p=%d", e.Partition)
	case Stamp:
		return "stamp " + ms(e.Watermark)
	case Say:
		word := "active"
		if e.Idle {
			word = "idle"
		}
		if e.Question != 0 {
			word += fmt.Sprintf(" question=%d", e.Question)
		}
		return fmt.Sprintf("say %s %s %s", e.To, ms(e.Watermark), word)
	case Advance:
		return "advance " + ms(e.Watermark)
	case Answer:
		return fmt.Sprintf("answer %s question=%d %s", e.To, e.Question, ms(e.Watermark))
	case Finished:
		return "finished"
	}
	return fmt.Sprintf("%#v", e)
}
