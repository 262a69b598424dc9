package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The layout of a record batch, magic 2: big-endian fields at fixed places, then the records.
const (
	batchBaseOffset    = 0
	batchLength        = 8 // bytes behind this field
	batchMagic         = 16
	batchCRC           = 17 // CRC-32C of everything from the attributes on
	batchAttributes    = 21
	batchLastDelta     = 23
	batchFirstTime     = 27
	batchMaxTime       = 35
	batchProducerID    = 43
	batchProducerEpoch = 51
	batchBaseSequence  = 53
	batchCount         = 57
	batchRecords       = 61

	batchPrefix = 12 // what batchLength does not count: base offset and the length itself
)

const magicV2 = 2

// Bits of the attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batchHeader is the part of a batch that decides what becomes of it.
type batchHeader struct {
	base       int64 // offset of the first record
	last       int64 // offset of the last one, also where compaction took it
	size       int   // of the whole batch in bytes
	attributes int16
	firstTime  int64
	maxTime    int64
	producer   int64
	count      int
}

// parseBatch reads the header of the batch at the front of b. complete is false when b ends within the batch: the
// broker cut it at the limit, it comes again. An error is an old format or corruption.
func parseBatch(b []byte) (h batchHeader, complete bool, err error) {
	if len(b) <= batchMagic {
		return h, false, nil
	}
	h.base = int64(binary.BigEndian.Uint64(b[batchBaseOffset:]))
	length := int(int32(binary.BigEndian.Uint32(b[batchLength:])))
	if magic := b[batchMagic]; magic != magicV2 {
		return h, false, &Error{
			Code: CodeUnsupportedVersion, Op: "decode", Partition: NoPartition,
			Detail: fmt.Sprintf("the batch at offset %d has the old message format %d; Kafka 4 no longer writes it, "+
				"copy the topic with a newer broker", h.base, magic),
		}
	}
	if length < batchRecords-batchPrefix {
		return h, false, corrupt("the batch at offset %d has length %d", h.base, length)
	}
	h.size = length + batchPrefix
	if len(b) < h.size {
		return h, false, nil
	}
	h.attributes = int16(binary.BigEndian.Uint16(b[batchAttributes:]))
	lastDelta := int32(binary.BigEndian.Uint32(b[batchLastDelta:]))
	h.last = h.base + int64(lastDelta)
	h.firstTime = int64(binary.BigEndian.Uint64(b[batchFirstTime:]))
	h.maxTime = int64(binary.BigEndian.Uint64(b[batchMaxTime:]))
	h.producer = int64(binary.BigEndian.Uint64(b[batchProducerID:]))
	h.count = int(int32(binary.BigEndian.Uint32(b[batchCount:])))
	if h.base < 0 || lastDelta < 0 || h.count < 0 {
		return h, false, corrupt("the batch at offset %d has %d records up to delta %d", h.base, h.count, lastDelta)
	}
	return h, true, nil
}

// checkCRC verifies a complete batch.
func checkCRC(batch []byte, base int64) error {
	want := binary.BigEndian.Uint32(batch[batchCRC:])
	if got := crc32.Checksum(batch[batchAttributes:], castagnoli); got != want {
		return corrupt("the batch at offset %d has CRC %08x, its bytes give %08x", base, want, got)
	}
	return nil
}

// corrupt is the error of bytes that cannot be what a producer wrote.
func corrupt(format string, args ...any) error {
	return &Error{Code: CodeCorrupt, Op: "decode", Partition: NoPartition, Detail: fmt.Sprintf(format, args...)}
}
