package kafka

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go/protocol"

	"github.com/pondage/pondage/internal/ident"
)

// This file is Fetch version 13 on the wire (KIP-516), which kafka-go does not speak. The form is flexible: lengths of
// arrays and strings are varints of n+1, and each structure ends in tagged fields, of which none is needed.

// fetchPart asks for one partition.
type fetchPart struct {
	topic     TopicID
	partition ident.Partition
	epoch     int32 // leader epoch known here: a broker with another one refuses
	from      ident.NextOffset
	maxBytes  int
	answered  bool // set once the answer has it
}

// fetchAnswer is what a broker says about one partition, before its record batches.
type fetchAnswer struct {
	topic         TopicID
	partition     ident.Partition
	code          int16
	highWatermark ident.NextOffset
	lastStable    ident.NextOffset
	logStart      ident.NextOffset
	aborted       []abortedTxn
	size          int // bytes of record batches that follow
}

const (
	noReplica    = -1 // we are a client
	noSession    = 0  // no incremental fetch session: each request names its partitions
	finalEpoch   = -1
	noEpoch      = -1
	minBytes     = 1 // answer as soon as there is anything: latency (DESIGN §5, no linger)
	noTags       = 0
	emptyCompact = 1 // length 0, plus one
)

// garbled is the error of an answer that cannot be what a broker says: the connection is given up, another may do better.
func garbled(format string, args ...any) error {
	return &Error{Code: CodeUnreachable, Op: "read answer", Partition: NoPartition, Detail: fmt.Sprintf(format, args...)}
}

// appendFetch appends a whole request, length first. Parts of one topic should be neighbours.
func appendFetch(
	b []byte, correlation int32, clientID string, iso Isolation, wait time.Duration, maxBytes int, parts []fetchPart,
) []byte {
	be := binary.BigEndian
	at := len(b)
	b = be.AppendUint32(b, 0) // the length, at the end
	b = be.AppendUint16(b, uint16(protocol.Fetch))
	b = be.AppendUint16(b, versionFetch)
	b = be.AppendUint32(b, uint32(correlation))
	b = be.AppendUint16(b, uint16(len(clientID)))
	b = append(b, clientID...)
	b = append(b, noTags)

	b = appendInt32(b, noReplica)
	b = appendInt32(b, int32(wait.Milliseconds()))
	b = appendInt32(b, minBytes)
	b = appendInt32(b, int32(maxBytes))
	b = append(b, byte(iso))
	b = appendInt32(b, noSession)
	b = appendInt32(b, finalEpoch)

	groups := groupByTopic(parts)
	b = binary.AppendUvarint(b, uint64(groups)+1)
	for len(parts) > 0 {
		n := sameTopic(parts)
		b = append(b, parts[0].topic[:]...)
		b = binary.AppendUvarint(b, uint64(n)+1)
		for _, p := range parts[:n] {
			b = appendInt32(b, int32(p.partition))
			b = appendInt32(b, p.epoch)
			b = be.AppendUint64(b, uint64(p.from))
			b = appendInt32(b, noEpoch)
			b = be.AppendUint64(b, ^uint64(0)) // log start: only followers say
			b = appendInt32(b, int32(p.maxBytes))
			b = append(b, noTags)
		}
		b = append(b, noTags)
		parts = parts[n:]
	}
	b = append(b, emptyCompact) // forgotten topics
	b = append(b, emptyCompact) // rack
	b = append(b, noTags)
	be.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// sameTopic returns how many parts at the front are of one topic.
func sameTopic(parts []fetchPart) int {
	n := 1
	for n < len(parts) && parts[n].topic == parts[0].topic {
		n++
	}
	return n
}

func groupByTopic(parts []fetchPart) (groups int) {
	for ; len(parts) > 0; groups++ {
		parts = parts[sameTopic(parts):]
	}
	return groups
}

// wireReader reads the fields of one answer. The first error stays: fields read behind it are zero.
type wireReader struct {
	r    *bufio.Reader
	left int // bytes of the answer not yet read
	err  error
}

// maxAnswer is the largest answer that is believed, bytes; above it the stream of bytes is out of step.
const maxAnswer = 1 << 30

// open reads length and header of an answer.
func (w *wireReader) open(correlation int32) {
	w.left = 4
	size := w.int32()
	if w.err == nil && (size < 4 || size > maxAnswer) {
		w.err = garbled("an answer of %d bytes", size)
	}
	w.left = int(size)
	if id := w.int32(); w.err == nil && id != correlation {
		w.err = errOutOfStep(correlation, id)
	}
	w.tags()
}

// fixed returns the next n bytes, valid until the next read; n is at most 16.
func (w *wireReader) fixed(n int) []byte {
	if w.err == nil && n > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err != nil {
		return make([]byte, n)
	}
	b, err := w.r.Peek(n)
	if err != nil {
		w.err = err
		return make([]byte, n)
	}
	_, _ = w.r.Discard(n) // cannot fail: Peek has them
	w.left -= n
	return b
}

func (w *wireReader) int16() int16 { return int16(binary.BigEndian.Uint16(w.fixed(2))) }
func (w *wireReader) int32() int32 { return int32(binary.BigEndian.Uint32(w.fixed(4))) }
func (w *wireReader) int64() int64 { return int64(binary.BigEndian.Uint64(w.fixed(8))) }

func (w *wireReader) uvarint() (v uint64) {
	for shift := 0; shift < 35; shift += 7 {
		b := w.fixed(1)[0]
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	if w.err == nil {
		w.err = garbled("a length of more than 32 bits in an answer")
	}
	return 0
}

// count reads a compact length; null is 0.
func (w *wireReader) count() int {
	n := w.uvarint()
	if n == 0 || w.err != nil {
		return 0
	}
	if n-1 > uint64(w.left) { // each element has at least a byte
		w.err = garbled("a length of %d in the last %d bytes of an answer", n-1, w.left)
		return 0
	}
	return int(n - 1)
}

// tags skips tagged fields.
func (w *wireReader) tags() {
	for n := w.uvarint(); n > 0 && w.err == nil; n-- {
		w.uvarint() // tag
		w.skip(int(w.uvarint()))
	}
}

func (w *wireReader) skip(n int) {
	if w.err == nil && n > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err != nil {
		return
	}
	done, err := w.r.Discard(n)
	w.left -= done
	w.err = err
}

// full fills b.
func (w *wireReader) full(b []byte) {
	if w.err == nil && len(b) > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err != nil {
		return
	}
	n, err := io.ReadFull(w.r, b)
	w.left -= n
	w.err = err
}

// readFetch reads an answer and calls each for every partition in it; each reads the answer's size bytes of batches from
// w, all of them. code is the broker's judgement of the whole request.
func readFetch(w *wireReader, correlation int32, each func(*fetchAnswer)) (code int16, err error) {
	w.open(correlation)
	w.int32() // throttle time: the broker delays by itself
	code = w.int16()
	w.int32() // session
	var a fetchAnswer
	for topics := w.count(); topics > 0 && w.err == nil; topics-- {
		copy(a.topic[:], w.fixed(len(a.topic)))
		for parts := w.count(); parts > 0 && w.err == nil; parts-- {
			readPartition(w, &a)
			if w.err != nil {
				break
			}
			each(&a)
			w.tags()
		}
		w.tags()
	}
	w.tags()
	if w.err == nil {
		w.skip(w.left)
	}
	return code, w.err
}

func readPartition(w *wireReader, a *fetchAnswer) {
	a.partition = ident.Partition(w.int32())
	a.code = w.int16()
	a.highWatermark = ident.NextOffset(w.int64())
	a.lastStable = ident.NextOffset(w.int64())
	a.logStart = ident.NextOffset(w.int64())
	a.aborted = nil
	for n := w.count(); n > 0 && w.err == nil; n-- {
		a.aborted = append(a.aborted, abortedTxn{producer: w.int64(), first: w.int64()})
		w.tags()
	}
	w.int32() // preferred replica: we read from leaders
	a.size = w.count()
}
