package dispatch

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// world is a sender, a network that loses, doubles and delays, a log per destination, and the receivers.
type world struct {
	t         *rapid.T
	sender    *Sender
	receivers map[ident.Task]*Receiver
	now       ident.MonoMs
	// sent is, per destination, what was handed over, in order: bodies of rows and triggers.
	sent map[ident.Task][]Handle
	got  map[ident.Task][]Handle
	// copies are requests somewhere between the sender and the broker; any of them may be appended at any time.
	copies []request
	log    map[ident.Task][]Numbered
	read   map[ident.Task]int
	// current is the request that the sender has under way; asked is whether it waits for an answer.
	current map[ident.Task]*request
	// credits are messages under way: old ones may come after newer ones.
	credits []CreditEntry
	next    Handle
	wm      map[ident.Task]ident.EventMs
	heard   map[ident.Task]ident.EventMs
}

// request is one produce request: what it holds, and whether a copy of it has been appended.
type request struct {
	to       ident.Task
	messages []Numbered
	appended bool
}

var modelDests = []Peer{{mustTask("agg-0"), place("n1")}, {mustTask("agg-1"), place("n2")}}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, sender: NewSender(SenderConfig{Self: self("source-0"), Destinations: modelDests}, 0), receivers: map[ident.Task]*Receiver{},
		sent: map[ident.Task][]Handle{}, got: map[ident.Task][]Handle{}, log: map[ident.Task][]Numbered{}, read: map[ident.Task]int{},
		current: map[ident.Task]*request{}, wm: map[ident.Task]ident.EventMs{}, heard: map[ident.Task]ident.EventMs{},
	}
	for _, d := range modelDests {
		s := Self{Stream: streamID, Stage: stageNow, Task: d.Task, Place: d.Place}
		w.wm[d.Task], w.heard[d.Task] = ident.WatermarkNone, ident.WatermarkNone
		w.receivers[d.Task] = NewReceiver(ReceiverConfig{Self: s, Upstreams: []Peer{{mustTask("source-0"), place("me")}}})
	}
	return w
}

func (w *world) step(e SendEvent) {
	effects, err := w.sender.Step(e)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Produce:
			if w.current[e.To] != nil {
				w.t.Fatalf("two requests to %s in flight", e.To)
			}
			r := &request{to: e.To, messages: e.Messages}
			w.current[e.To] = r
			w.copies = append(w.copies, *r)
		case Repeat:
			r := w.current[e.To]
			if r == nil || r.messages[0].ID != e.First || r.messages[len(r.messages)-1].ID != e.Last {
				w.t.Fatalf("repeat of %d-%d to %s is not the request in flight", e.First, e.Last, e.To)
			}
			w.copies = append(w.copies, *r)
		case Delivered:
			if r := w.current[e.To]; r != nil && r.messages[len(r.messages)-1].ID <= e.UpTo {
				if !r.appended {
					w.t.Fatalf("%s: %d is called delivered and was never appended", e.To, e.UpTo)
				}
				w.current[e.To] = nil
			}
		case NeedReset:
			w.t.Fatalf("the sender wants a reset: %v", e)
		}
	}
}

// flush hands over rows, when the sender takes any.
func (w *world) flush() {
	if !w.sender.Taking() {
		return
	}
	f := Flush{Now: w.now}
	for range rapid.IntRange(1, 80).Draw(w.t, "messages") {
		to := rapid.SampledFrom(modelDests).Draw(w.t, "to").Task
		w.next++
		w.sent[to] = append(w.sent[to], w.next)
		w.raise(to, rapid.IntRange(0, 2).Draw(w.t, "wm"))
		f.Messages = append(f.Messages, Message{To: to, Type: block.MsgData, Body: w.next, Bytes: rapid.SampledFrom([]int{10, 1 << 20, MaxBatch}).Draw(w.t, "bytes"), Watermark: w.wm[to]})
	}
	w.step(f)
	if w.sender.Settled() {
		w.t.Fatal("settled, and nothing of the flush has been answered")
	}
}

// raise moves a destination's watermark on; the first one is 0.
func (w *world) raise(to ident.Task, by int) { w.wm[to] = max(w.wm[to], 0) + ident.EventMs(by) }

func (w *world) speak() {
	to := rapid.SampledFrom(modelDests).Draw(w.t, "to").Task
	w.raise(to, 1)
	w.step(Speak{To: to, Watermark: w.wm[to], Now: w.now})
}

func (w *world) trigger() {
	w.next++
	for _, d := range modelDests {
		w.sent[d.Task] = append(w.sent[d.Task], w.next)
	}
	w.step(Control{Message: Message{Type: block.MsgCheckpointTrigger, Body: w.next, Checkpoint: ident.CheckpointID(w.next), Tx: 1}, Now: w.now})
}

// append lets the broker take one copy of a request, perhaps late, perhaps for the second time; its answer may be lost or
// wrong.
func (w *world) append() {
	if len(w.copies) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.copies)-1).Draw(w.t, "copy")
	c := w.copies[i]
	keep := rapid.Bool().Draw(w.t, "a further copy stays in the network")
	if !keep {
		w.copies = append(w.copies[:i], w.copies[i+1:]...)
	}
	w.land(c)
	switch rapid.SampledFrom([]string{"ok", "ok", "lost", "error"}).Draw(w.t, "answer") {
	case "ok":
		w.answer(c, ResultOK)
	case "error":
		w.answer(c, ResultError)
	}
}

func (w *world) land(c request) {
	w.log[c.to] = append(w.log[c.to], c.messages...)
	if r := w.current[c.to]; r != nil && r.messages[0].ID == c.messages[0].ID {
		r.appended = true
	}
}

// refuse loses a copy without appending it.
func (w *world) refuse() {
	if len(w.copies) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.copies)-1).Draw(w.t, "copy")
	c := w.copies[i]
	w.copies = append(w.copies[:i], w.copies[i+1:]...)
	w.answer(c, ResultError)
}

func (w *world) answer(c request, r Result) {
	w.step(Sent{To: c.to, Stage: stageNow, First: c.messages[0].ID, Last: c.messages[len(c.messages)-1].ID, Result: r, Now: w.now})
}

// receive reads on in a destination's log, and tells of it sometimes.
func (w *world) receive() {
	d := rapid.SampledFrom(modelDests).Draw(w.t, "receiver")
	for range rapid.IntRange(1, 50).Draw(w.t, "reads") {
		w.readOne(d)
	}
	w.credits = append(w.credits, w.credit(d))
}

func (w *world) readOne(d Peer) {
	if w.read[d.Task] >= len(w.log[d.Task]) {
		return
	}
	m := w.log[d.Task][w.read[d.Task]]
	w.read[d.Task]++
	h := &block.Header{
		Version: block.WireVersion, Stream: streamID, Stage: stageNow, Msg: m.ID, Upstream: mustTask("source-0"), UpNode: "me",
		Downstream: d.Task, Down: d.Place, Type: m.Type, Watermark: m.Watermark, Checkpoint: m.Checkpoint, Tx: m.Tx,
	}
	w.receiveEffects(d.Task, Arrived{Header: h, Body: m.Body, Bytes: m.Bytes, Offset: ident.NextOffset(w.read[d.Task])})
}

func (w *world) receiveEffects(to ident.Task, e ReceiveEvent) {
	effects, err := w.receivers[to].Step(e)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range append([]ReceiveEffect(nil), effects...) {
		switch e := e.(type) {
		case Enqueue:
			if e.Header.Type != block.MsgWatermark {
				w.got[to] = append(w.got[to], e.Body)
			}
			if e.Header.Watermark < w.heard[to] {
				w.t.Fatalf("%s: watermark fell from %d to %d", to, w.heard[to], e.Header.Watermark)
			}
			w.heard[to] = e.Header.Watermark
			w.receiveEffects(to, Done{Header: e.Header})
		case AllIn:
			w.receiveEffects(to, OpenInputs{Checkpoint: e.Checkpoint})
		case NeedReset:
			w.t.Fatalf("%s: %v", to, e)
		}
	}
}

func (w *world) credit(d Peer) CreditEntry {
	return CreditEntry{Stream: streamID, Stage: stageNow, Upstream: mustTask("source-0"), Task: d.Task, Consumed: w.receivers[d.Task].Received(mustTask("source-0"))}
}

// deliverCredit brings one of the credit messages under way, in any order.
func (w *world) deliverCredit() {
	if len(w.credits) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.credits)-1).Draw(w.t, "credit")
	w.bring(w.credits[i])
	if rapid.Bool().Draw(w.t, "gone") {
		w.credits = append(w.credits[:i], w.credits[i+1:]...)
	}
}

func (w *world) bring(c CreditEntry) {
	from := modelDests[0].Place
	if c.Task == modelDests[1].Task {
		from = modelDests[1].Place
	}
	w.step(Credited{From: from, Entry: c, Now: w.now})
}

func (w *world) tick() {
	w.now += ident.MonoMs(rapid.SampledFrom([]int{0, 300, 6000, 40000}).Draw(w.t, "dt"))
	w.step(SenderTick{Now: w.now})
}

// heal ends all faults: every copy arrives and is answered, every log is read, every credit comes.
func (w *world) heal() {
	for range 2000 {
		w.now += 300
		w.step(SenderTick{Now: w.now})
		copies := w.copies
		w.copies = nil
		for _, c := range copies {
			w.land(c)
			w.answer(c, ResultOK)
		}
		for _, d := range modelDests {
			for w.read[d.Task] < len(w.log[d.Task]) {
				w.readOne(d)
			}
			w.bring(w.credit(d))
		}
		if w.sender.Settled() && w.sender.Taking() && w.complete() {
			return
		}
	}
	w.t.Fatalf("no progress after the network is healed: sent %v, got %v", w.sent, w.got)
}

func (w *world) complete() bool {
	for _, d := range modelDests {
		if len(w.got[d.Task]) != len(w.sent[d.Task]) || w.heard[d.Task] != w.wm[d.Task] {
			return false
		}
	}
	return true
}

// TestLossyNetworkEndsWithExactlyWhatWasSent: whatever is lost, doubled, late or answered wrongly, each receiver ends with
// exactly the sequence that was handed over, without a gap on the way.
func TestLossyNetworkEndsWithExactlyWhatWasSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		actions := map[string]func(){
			"flush": w.flush, "speak": w.speak, "trigger": w.trigger, "append": w.append, "append again": w.append, "refuse": w.refuse,
			"receive": w.receive, "credit": w.deliverCredit, "tick": w.tick,
		}
		names := []string{"flush", "speak", "trigger", "append", "append again", "refuse", "receive", "credit", "tick"}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			actions[rapid.SampledFrom(names).Draw(t, "action")]()
		}
		w.heal()
		for _, d := range modelDests {
			for i, h := range w.sent[d.Task] {
				if w.got[d.Task][i] != h {
					t.Fatalf("%s: message %d is body %d, want %d", d.Task, i, w.got[d.Task][i], h)
				}
			}
		}
	})
}

// TestALostMessageIsAReset: when the log really lacks a message, the receiver says so at the next one and takes nothing more.
func TestALostMessageIsAReset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "messages")
		lost := rapid.IntRange(1, n-1).Draw(t, "lost")
		r := NewReceiver(ReceiverConfig{Self: self("agg-3"), Upstreams: []Peer{{mustTask("source-0"), place("n1")}}})
		taken, resets := 0, 0
		for i := 1; i <= n; i++ {
			if i == lost {
				continue
			}
			effects, err := r.Step(Arrived{Header: &block.Header{Version: block.WireVersion, Stream: streamID, Stage: stageNow, Msg: ident.MsgID(i), Upstream: mustTask("source-0"), Downstream: mustTask("agg-3"), Down: place("me"), Type: block.MsgData}})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range effects {
				switch e.(type) {
				case Enqueue:
					taken++
				case NeedReset:
					resets++
				}
			}
		}
		if taken != lost-1 || resets != 1 || !r.Over() {
			t.Fatalf("message %d of %d lost: %d taken, %d resets, over %t", lost, n, taken, resets, r.Over())
		}
	})
}
