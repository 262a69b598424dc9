package kafka

import (
	"encoding/binary"

	"github.com/pondage/pondage/internal/ident"
)

// Record is one record of a Chunk. It and the bytes it shows are overwritten by the next one, and gone after
// Chunk.Release: copy what must stay.
type Record struct {
	// Offset is the record's own offset: once the record is processed, the position is Offset.Next().
	Offset ident.LastOffset
	// TimestampMs is the record's Kafka timestamp, ms since the epoch: the producer's, or the broker's where the topic
	// says LogAppendTime. −1 when there is none. It is not an event time.
	TimestampMs int64
	Key         []byte // nil: null
	Value       []byte // nil: null, a tombstone

	headers     []byte // encoded
	headerCount int
}

// Header is one record header. Value nil is a null value.
type Header struct {
	Key   string
	Value []byte
}

// HeaderCount returns the number of headers.
func (r *Record) HeaderCount() int { return r.headerCount }

// Headers calls yield for each header in order until it returns false. The bytes are gone with the record.
// An error is corruption (CodeCorrupt).
func (r *Record) Headers(yield func(key, value []byte) bool) error {
	rest := r.headers
	for range r.headerCount {
		key, after, ok := varBytes(rest)
		if !ok || key == nil {
			return corrupt("record %d: a header's key runs over its end", r.Offset)
		}
		value, after, ok := varBytes(after)
		if !ok {
			return corrupt("record %d: a header's value runs over its end", r.Offset)
		}
		if !yield(key, value) {
			return nil
		}
		rest = after
	}
	return nil
}

// Header returns the value of the last header of that name, as Kafka's own clients do.
func (r *Record) Header(name string) (value []byte, ok bool) {
	if r.headerCount == 0 {
		return nil, false
	}
	// A header that cannot be decoded is not found here; Headers names the corruption.
	_ = r.Headers(func(k, v []byte) bool {
		if string(k) == name {
			value, ok = v, true
		}
		return true
	})
	return value, ok
}

// varBytes reads a varint length and as many bytes; −1 is null.
func varBytes(b []byte) (value, rest []byte, ok bool) {
	n, w := binary.Varint(b)
	if w <= 0 {
		return nil, nil, false
	}
	b = b[w:]
	if n < 0 {
		return nil, b, n == -1
	}
	if n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
