package kafka

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// nextBatch moves to the next batch that has records to show. It returns false at the end or on an error.
func (it *Iterator) nextBatch() bool {
	for len(it.batches) > 0 && it.err == nil {
		h, complete, err := parseBatch(it.batches)
		if err != nil || !complete {
			it.err = err
			return false
		}
		batch := it.batches[:h.size]
		it.batches = it.batches[h.size:]
		if it.skips(h) {
			continue
		}
		if it.err = it.enter(h, batch); it.err == nil && it.left > 0 {
			return true
		}
	}
	return false
}

// skips tells whether no record of the batch is wanted: it lies below the position, is a marker, or was aborted.
func (it *Iterator) skips(h batchHeader) bool {
	if it.chunk.committed {
		it.reachAborted(h.last)
	}
	switch {
	case h.attributes&attrControl != 0:
		// The first marker of a producer behind the start of its aborted transaction is that transaction's end.
		it.dropping = slices.DeleteFunc(it.dropping, func(p int64) bool { return p == h.producer })
		return true
	case h.attributes&attrTransactional != 0 && slices.Contains(it.dropping, h.producer):
		return true
	}
	return ident.NextOffset(h.last) < it.chunk.From
}

// reachAborted notes the aborted transactions that begin at or before the offset.
func (it *Iterator) reachAborted(offset int64) {
	for len(it.aborted) > 0 && it.aborted[0].first <= offset {
		if p := it.aborted[0].producer; !slices.Contains(it.dropping, p) {
			it.dropping = append(it.dropping, p)
		}
		it.aborted = it.aborted[1:]
	}
}

// enter verifies the batch, unpacks it where it is compressed, and makes it the present one.
func (it *Iterator) enter(h batchHeader, batch []byte) error {
	if err := checkCRC(batch, h.base); err != nil {
		return err
	}
	records := batch[batchRecords:]
	if codec := Codec(h.attributes & attrCodec); codec != CodecNone {
		var err error
		if records, err = it.unpack.decompress(codec, records); err != nil {
			return corrupt("the batch at offset %d cannot be unpacked (%s): %v", h.base, codec, err)
		}
	}
	it.records, it.left, it.base, it.firstTime = records, h.count, h.base, h.firstTime
	it.stamped, it.appendTime = h.attributes&attrLogAppendTime != 0, h.maxTime
	return nil
}
