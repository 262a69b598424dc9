package dispatch

import (
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// entry is one destination task of a sender.
type entry struct {
	peer Peer
	life *peerLife
	// waiting are the rows of the open flush that have no credit yet, and so no number.
	waiting []Message
	// word is a watermark, idle notice or question that waits for credit while no rows do. A newer one replaces it.
	word    Message
	hasWord bool
	// last watermark and idleness that a numbered message carries, for control messages.
	watermark ident.EventMs
	idle      bool

	sentID   ident.MsgID // the last number given; never given up or used again
	answered ident.MsgID // the contiguous prefix that is appended
	consumed ident.MsgID // by the receiver

	// queue are the numbered messages from the request under way on; the first inFlight of them are that request. It is
	// repeated unchanged, so its bodies are kept until all of it is answered. acked marks what is answered of it, in any
	// order: only a contiguous prefix counts.
	queue    []Numbered
	acked    []bool
	inFlight int
	attempt  int
	sentAt   ident.MonoMs
	retryAt  ident.MonoMs
	status   status

	// sizes are the bytes of the messages after consumed; unconsumed is their sum.
	sizes      []int
	unconsumed int
}

// status is what is known of the request under way.
type status uint8

const (
	statusQuiet   status = iota // nothing is under way
	statusSent                  // no answer yet
	statusFailed                // to be repeated at retryAt
	statusBlocked               // the same, and the receiver does not take
)

// wait appends a message of the open flush. A word that waited rides on it.
func (d *entry) wait(m Message) {
	if d.hasWord {
		m.Watermark = max(m.Watermark, d.word.Watermark)
		if m.Related == 0 {
			m.Related = d.word.Related
		}
		d.hasWord = false
	}
	d.waiting = append(d.waiting, m)
}

// say puts a word behind everything that waits: on the last rows, or in their place.
func (d *entry) say(e Speak) {
	w := &d.word
	switch {
	case len(d.waiting) > 0:
		w = &d.waiting[len(d.waiting)-1]
	case !d.hasWord:
		d.hasWord = true
		*w = Message{To: d.peer.Task, Type: block.MsgWatermark, Watermark: ident.WatermarkNone}
	}
	w.Watermark, w.Idle = max(w.Watermark, e.Watermark), e.Idle
	if e.Related != 0 {
		w.Related = e.Related
	}
}

// credit tells whether the receiver has room for a message of the size.
func (d *entry) credit(bytes int) bool {
	return !d.life.silent && len(d.sizes) < CreditBlocks && d.unconsumed+bytes <= CreditBytes
}

// numberCredited gives numbers to what waits, in order, as far as there is credit.
func (d *entry) numberCredited() {
	n := 0
	for n < len(d.waiting) && d.credit(d.waiting[n].Bytes) {
		d.number(d.waiting[n])
		n++
	}
	d.waiting = dropFront(d.waiting, n)
	if len(d.waiting) == 0 && d.hasWord && d.credit(d.word.Bytes) {
		d.numberWord()
	}
}

// numberAll gives numbers to everything that waits, credit or not.
func (d *entry) numberAll() {
	for _, m := range d.waiting {
		d.number(m)
	}
	d.waiting = dropFront(d.waiting, len(d.waiting))
	if d.hasWord {
		d.numberWord()
	}
}

func (d *entry) numberWord() {
	d.hasWord = false
	d.number(d.word)
}

func (d *entry) number(m Message) {
	d.sentID++
	d.queue = append(d.queue, Numbered{Message: m, ID: d.sentID})
	d.sizes = append(d.sizes, m.Bytes)
	d.unconsumed += m.Bytes
	d.watermark, d.idle = max(d.watermark, m.Watermark), m.Idle
}

// begin makes a request of what is queued, up to the given bytes but at least one message, and returns it.
func (d *entry) begin(maxBytes int, now ident.MonoMs) []Numbered {
	bytes := 0
	for _, m := range d.queue {
		if bytes += m.Bytes; bytes > maxBytes && d.inFlight > 0 {
			break
		}
		d.inFlight++
	}
	d.acked = append(d.acked[:0], make([]bool, d.inFlight)...)
	d.status, d.sentAt, d.attempt = statusSent, now, 1
	return slices.Clone(d.queue[:d.inFlight])
}

// first and last are the ids of the request under way.
func (d *entry) first() ident.MsgID { return d.queue[0].ID }
func (d *entry) last() ident.MsgID  { return d.queue[d.inFlight-1].ID }

// concerns tells whether an answer is about messages under way that are not delivered yet.
func (d *entry) concerns(first, last ident.MsgID) bool {
	return d.inFlight > 0 && last > d.answered && first <= d.last()
}

// ack marks First…Last of the request as answered, tells whether more is delivered now, and returns the bodies once the
// whole request is.
func (d *entry) ack(first, last ident.MsgID) (freed []Handle, more bool) {
	base := d.first()
	for id := max(first, base); id <= min(last, d.last()); id++ {
		d.acked[id-base] = true
	}
	before := d.answered
	for n := int(before + 1 - base); n < d.inFlight && d.acked[n]; n++ {
		d.answered++
	}
	if d.answered == d.last() {
		for _, m := range d.queue[:d.inFlight] {
			freed = append(freed, m.Body)
		}
		d.queue, d.inFlight, d.status = dropFront(d.queue, d.inFlight), 0, statusQuiet
	}
	return freed, d.answered > before
}

// consume takes over what the receiver has processed; nothing when it is not news, or was never sent.
func (d *entry) consume(upTo ident.MsgID) bool {
	if upTo <= d.consumed || upTo > d.sentID {
		return false
	}
	n := int(upTo - d.consumed)
	for _, b := range d.sizes[:n] {
		d.unconsumed -= b
	}
	d.sizes = dropFront(d.sizes, n)
	d.consumed = upTo
	return true
}

// dropFront removes the first n elements and keeps the memory from growing without bound.
func dropFront[T any](s []T, n int) []T {
	if n == 0 {
		return s
	}
	kept := copy(s, s[n:])
	clear(s[kept:])
	return s[:kept]
}
