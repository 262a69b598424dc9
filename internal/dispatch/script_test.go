package dispatch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// The cast of the scripts: stream 1 in stage 4, node "me" and nodes "n1", "n2", all in their first instance.
const (
	streamID = ident.StreamID(1)
	stageNow = ident.Stage(4)
)

func place(node string) ident.Place {
	return ident.Place{Node: ident.NodeID(node), Instance: ident.Instance{Counter: 1}}
}

func self(task string) Self {
	return Self{Stream: streamID, Stage: stageNow, Task: mustTask(task), Place: place("me")}
}

func mustTask(s string) ident.Task {
	t, err := ident.ParseTask(s)
	if err != nil {
		panic(err)
	}
	return t
}

// args reads the arguments of a command. Peers are written task@node.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) has(key string) bool { return a.d.HasArg(key) }

func (a args) str(key, def string) string {
	if arg, ok := a.d.Arg(key); ok {
		return arg.SingleVal(a.t)
	}
	return def
}

func (a args) num(key string, def int) int {
	n, err := strconv.Atoi(a.str(key, strconv.Itoa(def)))
	if err != nil {
		a.t.Fatalf("%s: %s: %v", a.d.Pos, key, err)
	}
	return n
}

func (a args) now() ident.MonoMs { return ident.MonoMs(a.num("now", 0)) }

func (a args) peers(key string) []Peer {
	arg, ok := a.d.Arg(key)
	if !ok {
		return nil
	}
	var peers []Peer
	for _, v := range arg.Vals {
		task, node, ok := strings.Cut(v, "@")
		if !ok {
			node = "n1"
		}
		peers = append(peers, Peer{Task: mustTask(task), Place: place(node)})
	}
	return peers
}

func (a args) ids(key string) (first, last ident.MsgID) {
	lo, hi, ok := strings.Cut(a.str(key, "0"), "-")
	if !ok {
		hi = lo
	}
	f, errF := strconv.ParseUint(lo, 10, 64)
	l, errL := strconv.ParseUint(hi, 10, 64)
	if errF != nil || errL != nil {
		a.t.Fatalf("%s: %s: want N or N-M", a.d.Pos, key)
	}
	return ident.MsgID(f), ident.MsgID(l)
}

var typeNames = map[block.MsgType]string{
	block.MsgData: "data", block.MsgWatermark: "watermark", block.MsgCheckpointTrigger: "trigger", block.MsgTransState: "trans_state",
}

// print joins lines; "(nothing)" when there are none.
func printLines(lines []string, err error) string {
	if err != nil {
		lines = append(lines, "error: "+err.Error())
	}
	if len(lines) == 0 {
		return "(nothing)"
	}
	return strings.Join(lines, "\n")
}

func (n Numbered) String() string {
	s := fmt.Sprintf("%d:%s", n.ID, typeNames[n.Type])
	if n.Watermark != ident.WatermarkNone {
		s += fmt.Sprintf(" wm=%d", n.Watermark)
	}
	if n.Idle {
		s += " idle"
	}
	if n.Related != 0 {
		s += fmt.Sprintf(" rt=%d", n.Related)
	}
	if n.Checkpoint != 0 {
		s += fmt.Sprintf(" cp=%d", n.Checkpoint)
	}
	return s
}

func showSend(e SendEffect) string {
	switch e := e.(type) {
	case Produce:
		var ms []string
		for _, m := range e.Messages {
			ms = append(ms, m.String())
		}
		if many := 6; len(ms) > many {
			ms = []string{ms[0], "…", ms[len(ms)-1]}
		}
		return fmt.Sprintf("produce %s [%s]", e.To, strings.Join(ms, ", "))
	case Repeat:
		return fmt.Sprintf("repeat %s %d-%d attempt=%d", e.To, e.First, e.Last, e.Attempt)
	case Delivered:
		return fmt.Sprintf("delivered %s up to %d, freed %d", e.To, e.UpTo, len(e.Freed))
	case PauseInput:
		return "pause input"
	case ResumeInput:
		return "resume input"
	case SilentPeer:
		return "silent " + string(e.Place.Node)
	case HeardPeer:
		return "heard " + string(e.Place.Node)
	case FloorAnswer:
		return fmt.Sprintf("floor answer %s question=%d %d", e.From, e.Question, e.Watermark)
	case NeedReset:
		return showReset(e)
	}
	return fmt.Sprintf("%#v", e)
}

func showReset(e NeedReset) string {
	return strings.TrimSpace(fmt.Sprintf("need reset of stage %d: %s by %s %s", e.Stage, e.Reason, e.Peer.Task, e.Detail))
}

func TestSenderScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/sender", func(t *testing.T, path string) {
		s := &senderScript{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(args{t, d}) })
	})
}

type senderScript struct {
	*Sender
	handle Handle
}

func (s *senderScript) run(a args) string {
	if a.d.Cmd == "sender" {
		s.Sender = NewSender(SenderConfig{Self: self(a.str("self", "source-0")), Destinations: a.peers("to"), MaxBatch: a.num("max-batch", 0)}, a.now())
		return "ok"
	}
	var lines []string
	if a.d.Cmd == "entries" {
		for _, e := range s.Entries() {
			lines = append(lines, fmt.Sprintf("%s: sent=%d answered=%d consumed=%d unconsumed=%d waiting=%d retries=%d %s silent=%t",
				e.Peer.Task, e.Sent, e.Answered, e.Consumed, e.Unconsumed, e.Waiting, e.Retries, e.Status, e.Silent))
		}
		return printLines(lines, nil)
	}
	effects, err := s.Step(s.event(a))
	for _, e := range effects {
		lines = append(lines, showSend(e))
	}
	return printLines(lines, err)
}

// event reads a command; the input of flush has a line per message: task [bytes=] [wm=] [n=].
func (s *senderScript) event(a args) SendEvent {
	to := ident.Task{}
	if p := a.peers("to"); len(p) > 0 {
		to = p[0].Task
	}
	switch a.d.Cmd {
	case "flush":
		f := Flush{Now: a.now()}
		for line := range strings.Lines(a.d.Input) {
			f.Messages = append(f.Messages, s.messages(a, line)...)
		}
		return f
	case "speak":
		return Speak{To: to, Watermark: ident.EventMs(a.num("wm", 0)), Idle: a.has("idle"), Related: int64(a.num("rt", 0)), Now: a.now()}
	case "trigger":
		return Control{Message: Message{Type: block.MsgCheckpointTrigger, Checkpoint: ident.CheckpointID(a.num("cp", 0))}, Now: a.now()}
	case "sent":
		results := map[string]Result{"ok": ResultOK, "error": ResultError, "blocked": ResultBlocked, "refused": ResultRefused, "no-such-task": ResultNoSuchTask, "new-stage": ResultNewStage}
		first, last := a.ids("id")
		return Sent{To: to, Stage: ident.Stage(a.num("stage", int(stageNow))), First: first, Last: last, Result: results[a.str("result", "ok")], Now: a.now()}
	case "credit":
		return Credited{
			From: place(a.str("from", "n1")), Now: a.now(),
			Entry: CreditEntry{
				Stream: ident.StreamID(a.num("stream", int(streamID))), Stage: ident.Stage(a.num("stage", int(stageNow))), Upstream: s.self.Task, Task: to,
				Consumed: ident.MsgID(a.num("consumed", 0)), Notice: NoticeKind(a.str("notice", "")),
				Question: int64(a.num("question", 0)), Watermark: ident.EventMs(a.num("wm", 0)),
			},
		}
	case "tick":
		return SenderTick{Now: a.now()}
	case "over":
		return StageOver{}
	}
	a.t.Fatalf("%s: unknown command %s", a.d.Pos, a.d.Cmd)
	return nil
}

func (s *senderScript) messages(a args, line string) []Message {
	fields := strings.Fields(line)
	m := Message{To: mustTask(fields[0]), Type: block.MsgData, Watermark: ident.WatermarkNone, Bytes: 100}
	count := 1
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			a.t.Fatal(err)
		}
		switch key {
		case "bytes":
			m.Bytes = n
		case "wm":
			m.Watermark = ident.EventMs(n)
		case "n":
			count = n
		}
	}
	var all []Message
	for range count {
		s.handle++
		m.Body = s.handle
		all = append(all, m)
	}
	return all
}

func TestReceiverScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/receiver", func(t *testing.T, path string) {
		s := &receiverScript{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(args{t, d}) })
	})
}

type receiverScript struct{ *Receiver }

func (s *receiverScript) run(a args) string {
	if a.d.Cmd == "receiver" {
		s.Receiver = NewReceiver(ReceiverConfig{Self: self(a.str("self", "agg-3")), Upstreams: a.peers("from"), Settled: ident.CheckpointID(a.num("settled", 0)), HeldBytes: a.num("held", 0)})
		return "ok"
	}
	if a.d.Cmd == "wanted" {
		if from, ok := s.Wanted(); ok {
			return fmt.Sprint(from)
		}
		return printLines(nil, nil)
	}
	var e ReceiveEvent
	switch a.d.Cmd {
	case "recv":
		e = Arrived{Header: s.header(a), Body: Handle(a.num("id", 0)), Bytes: a.num("bytes", 10), Offset: ident.NextOffset(a.num("offset", 0))}
	case "done":
		e = Done{Header: s.header(a)}
	case "open":
		e = OpenInputs{Checkpoint: ident.CheckpointID(a.num("cp", 0))}
	case "settled":
		e = Settled{Checkpoint: ident.CheckpointID(a.num("cp", 0))}
	default:
		a.t.Fatalf("%s: unknown command %s", a.d.Pos, a.d.Cmd)
	}
	effects, err := s.Step(e)
	var lines []string
	for _, e := range effects {
		lines = append(lines, showReceive(e))
	}
	return printLines(lines, err)
}

func (s *receiverScript) header(a args) *block.Header {
	h := &block.Header{
		Version: uint8(a.num("version", block.WireVersion)), Stream: ident.StreamID(a.num("stream", int(streamID))),
		Stage: ident.Stage(a.num("stage", int(stageNow))), Msg: ident.MsgID(a.num("id", 0)),
		Upstream: mustTask(a.str("from", "source-0")), UpNode: "n1", Downstream: mustTask(a.str("to", "agg-3")), Down: place(a.str("at", "me")),
		Type: block.MsgData,
	}
	if a.has("cp") {
		h.Type, h.Checkpoint, h.Tx = block.MsgCheckpointTrigger, ident.CheckpointID(a.num("cp", 0)), ident.TxID(a.num("tx", 70))
	}
	return h
}

func showMessage(a Arrived) string {
	s := fmt.Sprintf("%s %d:%s", a.Header.Upstream, a.Header.Msg, typeNames[a.Header.Type])
	if a.Header.Checkpoint != 0 {
		s += fmt.Sprintf(" cp=%d", a.Header.Checkpoint)
	}
	return s
}

func showReceive(e ReceiveEffect) string {
	switch e := e.(type) {
	case Enqueue:
		return "enqueue " + showMessage(e.Arrived)
	case Hold:
		return "hold " + showMessage(e.Arrived)
	case Drop:
		return "drop " + string(e.Reason)
	case Notice:
		return fmt.Sprintf("notice to %s: %s %s in stage %d", e.To, e.Entry.Notice, e.Entry.Task, e.Entry.Stage)
	case EndStage:
		return fmt.Sprintf("end stage %d", e.Stage)
	case AskOrders:
		return fmt.Sprintf("ask orders, seen stage %d", e.Seen)
	case AlignmentBegan:
		return fmt.Sprintf("alignment began cp=%d tx=%d", e.Checkpoint, e.Tx)
	case AlignmentFailed:
		return fmt.Sprintf("alignment failed cp=%d", e.Checkpoint)
	case TriggerIn:
		return fmt.Sprintf("trigger in %s cp=%d", e.From, e.Checkpoint)
	case AllIn:
		return fmt.Sprintf("all in cp=%d tx=%d", e.Checkpoint, e.Tx)
	case InputsOpen:
		return "inputs open"
	case Seek:
		return fmt.Sprintf("seek %d", e.Offset)
	case NeedReset:
		return showReset(e)
	}
	return fmt.Sprintf("%#v", e)
}

func TestHandshakeScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/handshake", func(t *testing.T, path string) {
		s := &handshakeScript{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(args{t, d}) })
	})
}

// handshakeScript has an asking and an answering side; they are not connected.
type handshakeScript struct {
	ask    *Handshake
	answer *Readiness
}

func (s *handshakeScript) run(a args) string {
	stage := ident.Stage(a.num("stage", int(stageNow)))
	switch a.d.Cmd {
	case "ask":
		s.ask = NewHandshake(Check{Stream: streamID, Stage: stage, From: place("me"), To: place("n1"), Pairs: []Pair{{mustTask("source-0"), mustTask("agg-3")}}})
		return "ok"
	case "node":
		s.answer = NewReadiness(place("me"))
		return "ok"
	case "check-tick":
		return showAsk(s.ask.Step(CheckTick{Now: a.now()}))
	case "answer":
		return showAsk(s.ask.Step(CheckAnswered{Now: a.now(), Answer: CheckAnswer{Stream: streamID, Stage: stage, From: place(a.str("from", "n1")), Verdict: Verdict(a.str("verdict", ""))}}))
	case "no-answer":
		return showAsk(s.ask.Step(CheckFailed{Now: a.now()}))
	}
	var e ReadinessEvent
	switch a.d.Cmd {
	case "call":
		c := Check{Stream: streamID, Stage: stage, From: place("n1"), To: place(a.str("to", "me"))}
		for _, p := range a.peers("tasks") {
			c.Pairs = append(c.Pairs, Pair{mustTask("source-0"), p.Task})
		}
		e = Checked{Call: CallID(a.num("id", 0)), Check: c, Now: a.now()}
	case "known":
		k := StageKnown{Stream: streamID, Stage: stage}
		for _, p := range a.peers("tasks") {
			k.Tasks = append(k.Tasks, p.Task)
		}
		e = k
	case "ready":
		e = TaskReady{Stream: streamID, Stage: stage, Task: a.peers("task")[0].Task}
	case "gone":
		e = StreamGone{Stream: streamID}
	case "hung-up":
		e = CallGone{Call: CallID(a.num("id", 0))}
	case "tick":
		e = ReadinessTick{Now: a.now()}
	}
	var lines []string
	for _, e := range s.answer.Step(e) {
		switch e := e.(type) {
		case Reply:
			lines = append(lines, fmt.Sprintf("reply %d: %s", e.Call, e.Answer.Verdict))
		case AskOrders:
			lines = append(lines, fmt.Sprintf("ask orders, seen stage %d", e.Seen))
		}
	}
	return printLines(lines, nil)
}

func showAsk(effects []HandshakeEffect) string {
	var lines []string
	for _, e := range effects {
		switch e := e.(type) {
		case Call:
			lines = append(lines, fmt.Sprintf("call %s: %d pairs in stage %d", e.Check.To.Node, len(e.Check.Pairs), e.Check.Stage))
		case Ready:
			lines = append(lines, "ready")
		case SilentRound:
			lines = append(lines, fmt.Sprintf("silent round %d, node update: %t", e.Round, e.Update))
		case PeerBack:
			lines = append(lines, "peer back")
		case NeedReset:
			lines = append(lines, showReset(e))
		}
	}
	return printLines(lines, nil)
}

func TestCreditScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/credits", func(t *testing.T, path string) {
		c := NewCredits(place("me"))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return runCredits(args{t, d}, c) })
	})
}

func runCredits(a args, c *Credits) string {
	ch := Channel{Stream: streamID, Stage: ident.Stage(a.num("stage", int(stageNow))), Upstream: mustTask(a.str("from", "source-0")), Task: mustTask(a.str("to", "agg-3"))}
	var e CreditEvent
	switch a.d.Cmd {
	case "opened":
		e = Opened{Channel: ch, From: ident.NodeID(a.str("node", "n1"))}
	case "consumed":
		e = Consumed{Channel: ch, Msg: ident.MsgID(a.num("id", 0))}
	case "held":
		e = HeldBack{Channel: ch}
	case "released":
		e = Released{Channel: ch}
	case "floor":
		e = FloorAnswered{Channel: ch, Question: int64(a.num("question", 0)), Watermark: ident.EventMs(a.num("wm", 0))}
	case "notice":
		e = Noticed{
			To: ident.NodeID(a.str("node", "n1")), Stream: ch.Stream, Stage: ch.Stage,
			Entry: CreditEntry{Stream: ch.Stream, Stage: ch.Stage, Upstream: ch.Upstream, Task: ch.Task, Notice: NoticeNoSuchTask},
		}
	case "closed":
		e = Closed{Stream: streamID, Stage: ch.Stage}
	case "tick":
		e = CreditTick{Now: a.now()}
	case "peers":
		return fmt.Sprintf("%d\n", len(c.peers))
	case "posted":
		p := CreditPosted{To: ident.NodeID(a.str("node", "n1")), Seq: uint64(a.num("seq", 0))}
		if a.has("lost") {
			p.Err = errors.New("no answer")
		}
		e = p
	}
	var lines []string
	for _, p := range c.Step(e) {
		lines = append(lines, fmt.Sprintf("post to %s seq=%d", p.Message.To, p.Message.Seq))
		for _, n := range p.Message.Entries {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s → %s stage=%d consumed=%d question=%d %s", n.Upstream, n.Task, n.Stage, n.Consumed, n.Question, n.Notice), " "))
		}
	}
	return printLines(lines, nil)
}
