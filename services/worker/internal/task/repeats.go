package task

import (
	"time"

	"github.com/pondage/pondage/internal/kafka"
)

// HeaderIngestKey is the record header that ingest puts on each record of a request with an Idempotency-Key: the key and
// the record's index in it (DESIGN §12).
const HeaderIngestKey = "ik"

// maxRepeats bounds the keys remembered per partition and window: beyond it the oldest are forgotten early.
const maxRepeats = 1 << 20

// repeats remembers the ingest keys of a partition for at least one window, at most two, by the records' own Kafka
// timestamps: so a replay drops the same records.
type repeats struct {
	window    int64 // ms
	turned    int64 // timestamp, ms, at which past was last replaced
	now, past map[string]struct{}
}

func newRepeats(window time.Duration) *repeats {
	return &repeats{window: max(window.Milliseconds(), 1), now: map[string]struct{}{}, past: map[string]struct{}{}}
}

// seen tells whether the record repeats one of the window, and remembers it.
func (r *repeats) seen(rec *kafka.Record) bool {
	if r == nil {
		return false
	}
	key, ok := rec.Header(HeaderIngestKey)
	if !ok {
		return false
	}
	if rec.TimestampMs-r.turned >= r.window || len(r.now) >= maxRepeats {
		if rec.TimestampMs-r.turned >= 2*r.window {
			clear(r.now)
		}
		r.now, r.past = r.past, r.now
		clear(r.now)
		r.turned = rec.TimestampMs
	}
	if _, ok := r.now[string(key)]; ok {
		return true
	}
	if _, ok := r.past[string(key)]; ok {
		return true
	}
	r.now[string(key)] = struct{}{}
	return false
}
