package kafka

import (
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// This file is Produce version 8 on the wire. kafka-go writes it, too, but from a copy in pages of its own; here the
// batches go to the connection from where they were built.

// produceFrame is a request in pieces: fields, and between them the batches where they lie. It keeps its memory.
type produceFrame struct {
	fields []byte
	cuts   []int // where in fields the batches go
	pieces [][]byte
}

// build returns the whole request, length first. It sorts the attempts by topic, as the request wants them; what it
// returns is valid until the next build.
func (f *produceFrame) build(correlation int32, clientID string, timeout time.Duration, attempts []attempt) net.Buffers {
	slices.SortStableFunc(attempts, func(a, b attempt) int { return strings.Compare(a.topic(), b.topic()) })
	be := binary.BigEndian
	f.cuts = f.cuts[:0]
	size := 0                             // of the batches
	b := be.AppendUint32(f.fields[:0], 0) // the length, at the end
	b = be.AppendUint16(b, uint16(protocol.Produce))
	b = be.AppendUint16(b, versionProduce)
	b = appendInt32(b, correlation)
	b = appendString(b, clientID)

	b = be.AppendUint16(b, ^uint16(0)) // no transaction
	b = be.AppendUint16(b, acksAll)
	b = appendInt32(b, int32(timeout.Milliseconds()))
	topics := 0
	at := len(b)
	b = appendInt32(b, 0) // the number of topics, at the end
	for rest := attempts; len(rest) > 0; topics++ {
		n := 1
		for n < len(rest) && rest[n].topic() == rest[0].topic() {
			n++
		}
		b = appendString(b, rest[0].topic())
		b = appendInt32(b, int32(n))
		for _, a := range rest[:n] {
			b = appendInt32(b, int32(a.queue.partition))
			b = appendInt32(b, int32(len(a.batch.buf)))
			f.cuts = append(f.cuts, len(b))
			size += len(a.batch.buf)
		}
		rest = rest[n:]
	}
	be.PutUint32(b[at:], uint32(topics))
	const lengthBytes = 4
	be.PutUint32(b, uint32(len(b)-lengthBytes+size))
	f.fields = b
	return f.weave(attempts)
}

// weave puts the batches between the fields.
func (f *produceFrame) weave(attempts []attempt) net.Buffers {
	f.pieces = f.pieces[:0]
	from := 0
	for i, cut := range f.cuts {
		f.pieces = append(f.pieces, f.fields[from:cut], attempts[i].batch.buf)
		from = cut
	}
	return f.pieces
}

// appendString appends a string as requests that are not flexible have it.
func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}
