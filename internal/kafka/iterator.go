package kafka

import (
	"encoding/binary"

	"github.com/pondage/pondage/internal/ident"
)

// Iterator walks over the records of chunks without a copy or an allocation per record. Its zero value is ready for
// Reset; keep one a task, it owns the memory that compressed batches are unpacked into.
//
//	it.Reset(chunk)
//	for it.Next() { use(&it.Record) }
//	if err := it.Err(); err != nil { … }
//	chunk.Release()
type Iterator struct {
	// Record is the present record, valid until the next call of Next or Reset.
	Record Record

	chunk   *Chunk
	batches []byte // the batches not yet begun
	records []byte // what is left of the present batch
	left    int    // records left in it

	base       int64 // of the present batch
	firstTime  int64
	appendTime int64 // of the present batch, when stamped
	stamped    bool  // all its records carry appendTime

	aborted  []abortedTxn // not yet reached
	dropping []int64      // producers inside an aborted transaction
	unpack   unpacker
	err      error
}

// Reset begins the records of c, from c.From on.
func (it *Iterator) Reset(c *Chunk) {
	it.chunk, it.batches, it.records, it.left, it.err = c, c.batches, nil, 0, nil
	it.aborted, it.dropping = c.aborted, it.dropping[:0]
}

// Next moves to the next record. It returns false at the end and on an error: ask Err.
func (it *Iterator) Next() bool {
	for {
		for it.left == 0 {
			if !it.nextBatch() {
				return false
			}
		}
		if !it.decodeRecord() {
			it.err = corrupt("a record behind offset %d of the batch at %d runs over its end", it.Record.Offset, it.base)
			it.left, it.batches = 0, nil
			return false
		}
		if it.Record.Offset >= ident.LastOffset(it.chunk.From) {
			return true
		}
	}
}

// Err returns what ended the iteration early: an *Error with topic and partition.
func (it *Iterator) Err() error {
	if it.err == nil {
		return nil
	}
	return locate(it.err, it.chunk.Topic, it.chunk.Partition)
}

// decodeRecord reads one record at the front of it.records into it.Record.
//
// A record is: length, attributes (unused), timestamp delta, offset delta, key, value, header count, headers; all
// numbers are zigzag varints. This is the hottest function of the package: it reads with one index and returns false for
// every kind of overrun.
func (it *Iterator) decodeRecord() bool {
	b := it.records
	length, i := varint(b, 0)
	if i < 0 || length < 1 || length > int64(len(b)-i) {
		return false
	}
	end := i + int(length)
	it.records = b[end:]
	it.left--
	b = b[:end]
	i++ // attributes

	timeDelta, i := varint(b, i)
	if i < 0 {
		return false
	}
	offsetDelta, i := varint(b, i)
	if i < 0 {
		return false
	}
	r := &it.Record
	r.Offset = ident.LastOffset(it.base + offsetDelta)
	if it.stamped {
		r.TimestampMs = it.appendTime
	} else {
		r.TimestampMs = it.firstTime + timeDelta
	}
	if i < len(b) && b[i] == varintMinusOne { // no key: common, and a call saved
		r.Key = nil
		i++
	} else if r.Key, i = bytesAt(b, i); i < 0 {
		return false
	}
	if r.Value, i = bytesAt(b, i); i < 0 {
		return false
	}
	if i == len(b)-1 && b[i] == 0 { // no headers: likewise
		r.headerCount = 0
		return true
	}
	count, i := varint(b, i)
	if i < 0 || count < 0 || count > int64(len(b)-i) {
		return false
	}
	r.headerCount, r.headers = int(count), b[i:]
	return true
}

// varintMinusOne is −1 as a zigzag varint.
const varintMinusOne = 1

// varint reads the zigzag varint at b[i:]. The index returned is behind it, or negative where b ends within it. One and two
// bytes are the usual cases.
func varint(b []byte, i int) (int64, int) {
	if uint(i) >= uint(len(b)) {
		return 0, -1
	}
	if u := int64(b[i]); u < 0x80 {
		return u>>1 ^ -(u & 1), i + 1
	}
	if i+1 < len(b) && b[i+1] < 0x80 {
		u := int64(b[i]&0x7f) | int64(b[i+1])<<7
		return u>>1 ^ -(u & 1), i + 2
	}
	v, n := binary.Varint(b[i:])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}

// bytesAt reads a length and as many bytes at b[i:]; length −1 is null. The index returned is behind them, or negative.
func bytesAt(b []byte, i int) ([]byte, int) {
	n, i := varint(b, i)
	if n < 0 {
		if n == -1 {
			return nil, i
		}
		return nil, -1
	}
	if i < 0 || n > int64(len(b)-i) {
		return nil, -1
	}
	end := i + int(n)
	return b[i:end:end], end
}
