package task

import (
	"bytes"
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// HeaderIngestKey is the record header that ingest puts on each record of a request with an Idempotency-Key: the key, a
// slash, and the record's index in the request (DESIGN §12).
const HeaderIngestKey = "ik"

// maxRepeats bounds the requests remembered per partition and window: some 200 a second over the default window of
// 10 min, and some 15 MB. Beyond it the oldest are forgotten early.
const maxRepeats = 1 << 17

// repeats remembers the ingest requests of a partition for at least one window, at most two, by the records' own Kafka
// timestamps: so a replay drops the same records.
//
// A request writes its records in the order of their indexes, as does each repeat of it. So whatever the attempts are
// interleaved, all records of the request in this partition up to the highest index seen have been seen, and that index
// is all there is to remember.
type repeats struct {
	window    int64             // ms
	turned    int64             // timestamp, ms, at which past was last replaced
	now, past map[string]*int64 // key of the request → highest index
}

func newRepeats(window time.Duration) *repeats {
	return &repeats{window: max(window.Milliseconds(), 1), now: map[string]*int64{}, past: map[string]*int64{}}
}

// seen tells whether the record repeats one of the window, and remembers it.
func (r *repeats) seen(rec *kafka.Record) bool {
	if r == nil {
		return false
	}
	value, ok := rec.Header(HeaderIngestKey)
	if !ok {
		return false
	}
	return r.known(value, rec.TimestampMs)
}

// known is seen for what a header carries, and the record's time.
func (r *repeats) known(value []byte, ms int64) bool {
	r.turn(ms)
	key, index := ingestKey(value)
	highest, known := r.now[string(key)]
	if !known {
		if highest, known = r.past[string(key)]; !known {
			highest = new(int64)
			*highest = -1
		}
		r.now[string(key)] = highest
	}
	if index <= *highest {
		return true
	}
	*highest = index
	return false
}

// turn begins a new generation when the window is over, or full.
func (r *repeats) turn(ms int64) {
	age := ms - r.turned
	if age < r.window && len(r.now) < maxRepeats {
		return
	}
	r.now, r.past = r.past, r.now
	clear(r.now)
	if age >= 2*r.window {
		clear(r.past) // its last record is a window old, too
	}
	r.turned = ms
}

// maxIndexDigits keeps an index within 64 bits.
const maxIndexDigits = 18

// ingestKey takes a header's value apart; the slash stays with the key. A value without an index is a key of one record.
func ingestKey(value []byte) (key []byte, index int64) {
	slash := bytes.LastIndexByte(value, '/')
	digits := value[slash+1:]
	if slash < 0 || len(digits) == 0 || len(digits) > maxIndexDigits {
		return value, 0
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return value, 0
		}
		index = 10*index + int64(c-'0')
	}
	return value[:slash+1], index
}
