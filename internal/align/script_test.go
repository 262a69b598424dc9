package align_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// Effects of the alignment stand at the margin of the scripts, those of the receiver's rules are indented.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/core", runScript)
}

func TestT38_ADiamondNeitherSkipsNorRepeats(t *testing.T) {
	t.Parallel()
	runScript(t, "testdata/traps/t38")
}

func TestT39_TwiceLateAndFromYesterday(t *testing.T) {
	t.Parallel()
	runScript(t, "testdata/traps/t39")
}

func TestT42_NoCheckpointBeforeTheTaskIsReady(t *testing.T) {
	t.Parallel()
	runScript(t, "testdata/traps/t42")
}

func runScript(t *testing.T, path string) {
	s := &script{}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(args{t, d}) })
}

// args reads the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) str(key, def string) string {
	if arg, ok := a.d.Arg(key); ok {
		return arg.SingleVal(a.t)
	}
	return def
}

func (a args) num(key string, def int64) int64 {
	n, err := strconv.ParseInt(a.str(key, strconv.FormatInt(def, 10)), 10, 64)
	if err != nil {
		a.t.Fatalf("%s: %s: %v", a.d.Pos, key, err)
	}
	return n
}

func (a args) tasks(key string) (out []ident.Task) {
	if arg, ok := a.d.Arg(key); ok {
		for _, v := range arg.Vals {
			out = append(out, mustTask(v))
		}
	}
	return out
}

func (a args) cp() ident.CheckpointID { return ident.CheckpointID(a.num("cp", 0)) }
func (a args) tx() ident.TxID         { return ident.TxID(a.num("tx", 10*int64(a.cp()))) }
func (a args) from() ident.Task       { return mustTask(a.str("from", "source-0")) }

type script struct {
	*rig
	handle dispatch.Handle
	lines  []string
}

func (s *script) run(a args) string {
	s.lines = nil
	if s.rig != nil && a.d.HasArg("now") {
		s.now = ident.MonoMs(a.num("now", 0))
	}
	switch a.d.Cmd {
	case "task":
		s.start(a)
		return "ok"
	case "recv":
		s.arrive(s.message(a), ident.MonoMs(a.num("left", 60_000)))
	case "question":
		s.lines = append(s.lines, showAnswer(s.core.Trigger(a.cp(), a.tx())))
	case "committed?":
		s.lines = append(s.lines, fmt.Sprint(s.core.Committed()))
	case "broken-verdict":
		_, err := s.core.Step(align.Settled{Stage: stageNow, Complete: ident.CheckpointID(a.num("complete", 0))})
		s.lines = append(s.lines, fmt.Sprint(err))
	default:
		s.align(s.event(a))
	}
	if len(s.lines) == 0 {
		return "(nothing)"
	}
	return strings.Join(s.lines, "\n")
}

func (s *script) start(a args) {
	s.rig = newRig(a.t, mustTask(a.str("self", "agg-3")), a.tasks("from"), align.Config{
		Restored: ident.CheckpointID(a.num("restored", 0)), Complete: ident.CheckpointID(a.num("complete", 0)), Settled: ident.CheckpointID(a.num("settled", 0)),
	}, int(a.num("held", 0)))
	s.row = func(m dispatch.Arrived) {
		s.lines = append(s.lines, fmt.Sprintf("  row %s %d", m.Header.Upstream, m.Header.Msg))
	}
	s.effect = func(f align.Effect) { s.lines = append(s.lines, show(f)) }
	s.rules = func(f dispatch.ReceiveEffect) {
		if line := showRule(f); line != "" {
			s.lines = append(s.lines, "  "+line)
		}
	}
}

func (s *script) message(a args) dispatch.Arrived {
	s.handle++
	h := &block.Header{
		Version: block.WireVersion, Stream: streamID, Stage: stageNow, Msg: ident.MsgID(a.num("id", 0)),
		Upstream: a.from(), UpNode: "me", Downstream: mustTask("agg-3"), Down: here, Type: block.MsgData,
	}
	if a.d.HasArg("cp") {
		h.Type, h.Checkpoint, h.Tx = block.MsgCheckpointTrigger, a.cp(), a.tx()
	}
	offset := a.num("offset", int64(s.handle))
	return dispatch.Arrived{Header: h, Body: s.handle, Bytes: int(a.num("bytes", 10)), Offset: ident.NextOffset(offset)}
}

func (s *script) event(a args) align.Event {
	switch a.d.Cmd {
	case "request":
		return align.Requested{
			Stage: ident.Stage(a.num("stage", int64(stageNow))), Checkpoint: a.cp(), Tx: a.tx(), Deadline: s.now + ident.MonoMs(a.num("left", 60_000)),
			Unready: a.str("unready", ""), Now: s.now,
		}
	case "began": // as if the shell had it in its queue behind a verdict
		return align.Began{Checkpoint: a.cp(), Tx: a.tx(), Deadline: s.now + 60_000, Now: s.now}
	case "tick":
		return align.Tick{Now: s.now}
	case "written":
		return align.Written{Checkpoint: a.cp(), Now: s.now}
	case "write-failed":
		return align.WriteFailed{Checkpoint: a.cp(), Failure: align.Failure{Code: align.Code(a.str("code", "disk_full"))}, Now: s.now}
	case "verdict":
		return align.Settled{
			Stage: ident.Stage(a.num("stage", int64(stageNow))), Complete: ident.CheckpointID(a.num("complete", 0)), Settled: ident.CheckpointID(a.num("settled", 0)), Now: s.now,
		}
	case "committed":
		return align.Committed{Checkpoint: a.cp(), Now: s.now}
	case "commit-failed":
		return align.CommitFailed{Now: s.now}
	case "answer":
		return align.TriggerAnswered{
			Checkpoint: a.cp(), From: a.from(), Mine: s.mine(a.from()), Now: s.now,
			Answer: align.Answer{Status: align.Status(a.str("status", "")), At: align.Position{Msg: ident.MsgID(a.num("msg", 0)), Offset: ident.NextOffset(a.num("offset", int64(align.NoOffset)))}},
		}
	case "new-coordinator":
		return align.ReportAgain{Now: s.now}
	}
	a.t.Fatalf("%s: unknown command %s", a.d.Pos, a.d.Cmd)
	return nil
}

func showAnswer(w align.Answer) string {
	if w.Status == align.StatusWaiting {
		return fmt.Sprintf("%s %v", w.Status, w.Waiting)
	}
	return string(w.Status)
}

// showRule shows what the receiver's rules do to messages; what goes to the alignment shows in its effects.
func showRule(e dispatch.ReceiveEffect) string {
	switch e := e.(type) {
	case dispatch.Hold:
		return fmt.Sprintf("hold %s %d", e.Header.Upstream, e.Header.Msg)
	case dispatch.Drop:
		return "drop " + string(e.Reason)
	case dispatch.AlignmentBegan:
		return fmt.Sprintf("alignment began cp=%d tx=%d", e.Checkpoint, e.Tx)
	case dispatch.AlignmentFailed:
		return fmt.Sprintf("alignment failed cp=%d", e.Checkpoint)
	case dispatch.TriggerIn:
		return fmt.Sprintf("trigger in %s cp=%d", e.From, e.Checkpoint)
	case dispatch.InputsOpen:
		return "inputs open"
	case dispatch.Seek:
		return fmt.Sprintf("seek %d", e.Offset)
	}
	return ""
}
