package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/ident"
)

// A script has the streams of a cluster and a clock. Commands:
//
//	stream id=N [interval=ms] [timeout=ms] [since=ms] [moved] [asked=kind@ms] [unable=why] [failed=n]
//	running id=N cp=N began=ms [progress=ms]    the parts are the lines: task [node=n] [asked] [taken] [done] [gone] [failed=why]
//	begin now=ms [slots=n]
//	step id=N now=ms
//	drop retain=n                                the lines: id [saved]
type script struct {
	streams []Stream
}

func (s *script) stream(id ident.StreamID) *Stream {
	for i := range s.streams {
		if s.streams[i].ID == id {
			return &s.streams[i]
		}
	}
	s.streams = append(s.streams, Stream{ID: id, Settings: Settings{IntervalMs: 10_000, TimeoutMs: 60_000, Retain: 3, MaxFailed: 3}})
	return &s.streams[len(s.streams)-1]
}

func number(t *testing.T, d *datadriven.TestData, key string, def int64) int64 {
	t.Helper()
	arg, ok := d.Arg(key)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(arg.SingleVal(t), 10, 64)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return n
}

func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var s script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	now := ident.MonoMs(number(t, d, "now", 0))
	switch d.Cmd {
	case "stream":
		s.declare(t, d)
	case "running":
		s.runs(t, d)
	case "begin":
		l := DefaultLimits
		l.MaxConcurrent = int(number(t, d, "slots", int64(l.MaxConcurrent)))
		starts, at := Begin(s.streams, l, now)
		var out strings.Builder
		for _, b := range starts {
			fmt.Fprintf(&out, "stream %d begins: %s\n", b.Stream, b.Kind)
		}
		fmt.Fprintf(&out, "look again at %d\n", at)
		return out.String()
	case "step":
		return show(Step(*s.stream(ident.StreamID(number(t, d, "id", 1))), now))
	case "drop":
		var kept []Kept
		for line := range strings.Lines(d.Input) {
			id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			kept = append(kept, Kept{ID: ident.CheckpointID(n), Saved: rest == "saved"})
		}
		return fmt.Sprintln(Drop(kept, int(number(t, d, "retain", 3))))
	default:
		d.Fatalf(t, "no command %s", d.Cmd)
	}
	return ""
}

func (s *script) declare(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	st := s.stream(ident.StreamID(number(t, d, "id", 1)))
	st.Settings.IntervalMs = ident.MonoMs(number(t, d, "interval", int64(st.Settings.IntervalMs)))
	st.Settings.TimeoutMs = ident.MonoMs(number(t, d, "timeout", int64(st.Settings.TimeoutMs)))
	st.Since, st.FailedInRow = ident.MonoMs(number(t, d, "since", 0)), int(number(t, d, "failed", 0))
	st.Moved, st.Asked, st.Unable, st.Running = d.HasArg("moved"), "", "", nil
	if arg, ok := d.Arg("asked"); ok {
		kind, at, _ := strings.Cut(arg.SingleVal(t), "@")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			d.Fatalf(t, "asked: %v", err)
		}
		st.Asked, st.AskedSince = Kind(kind), ident.MonoMs(n)
	}
	if arg, ok := d.Arg("unable"); ok {
		st.Unable = arg.SingleVal(t)
	}
}

func (s *script) runs(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	st := s.stream(ident.StreamID(number(t, d, "id", 1)))
	began := number(t, d, "began", 0)
	st.Running = &Running{
		ID: ident.CheckpointID(number(t, d, "cp", 1)), Tx: 1, Kind: Interval, Began: ident.MonoMs(began), Progress: ident.MonoMs(number(t, d, "progress", began)),
	}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		task, err := ident.ParseTask(words[0])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		p := Part{Task: task, Node: "n1"}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "node":
				p.Node = ident.NodeID(value)
			case "asked":
				p.Asked = true
			case "taken":
				p.Taken = true
			case "done":
				p.Done = true
			case "gone":
				p.Gone = true
			case "failed":
				p.Failed = value
			}
		}
		st.Running.Parts = append(st.Running.Parts, p)
	}
}

func show(d Decision) string {
	var out strings.Builder
	out.WriteString(d.Do.String())
	if d.Ask != nil {
		fmt.Fprintf(&out, " %v, %d ms left", d.Ask, d.LeftMs)
	}
	if d.Reason != "" {
		out.WriteString(": " + d.Reason)
	}
	if d.Alert {
		out.WriteString(" (alert)")
	}
	if d.At != 0 {
		fmt.Fprintf(&out, "; look again at %d", d.At)
	}
	return out.String() + "\n"
}
