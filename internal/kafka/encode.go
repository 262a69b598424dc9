package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// batchWriter builds one record batch in place: room for the header, then the records. Its memory is lent.
type batchWriter struct {
	buf       []byte
	memory    *[]byte // what buf lies in
	count     int
	firstTime int64
	maxTime   int64
}

// reset begins a batch of about size bytes; it may become larger.
func (w *batchWriter) reset(size int) {
	w.memory = lentBuffers.get(max(size, minBatchMemory))
	w.buf, w.count = (*w.memory)[:batchRecords], 0
}

// minBatchMemory is what a batch begins with at least, bytes.
const minBatchMemory = 16 << 10

// makeRoom makes room for a record of at most size bytes.
func (w *batchWriter) makeRoom(size int) {
	if cap(w.buf)-len(w.buf) >= size {
		return
	}
	larger := lentBuffers.get(max(2*cap(w.buf), len(w.buf)+size))
	buf := (*larger)[:copy(*larger, w.buf)]
	w.free()
	w.buf, w.memory = buf, larger
}

// free gives the memory back.
func (w *batchWriter) free() {
	lentBuffers.put(w.memory)
	w.buf, w.memory = nil, nil
}

// maxVarint32 is the room of the largest 32-bit varint, bytes.
const maxVarint32 = 5

// recordBound returns an upper bound of the bytes a message takes in a batch.
func recordBound(m *Message) int {
	n := 1 + 2*binary.MaxVarintLen64 + 4*maxVarint32 + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += 2*maxVarint32 + len(h.Key) + len(h.Value)
	}
	return n
}

// add appends a message; timeMs is its timestamp.
func (w *batchWriter) add(m *Message, timeMs int64) {
	if w.count == 0 {
		w.firstTime, w.maxTime = timeMs, timeMs
	}
	w.maxTime = max(w.maxTime, timeMs)
	timeDelta, offsetDelta := timeMs-w.firstTime, int64(w.count)

	length := 1 + varintSize(timeDelta) + varintSize(offsetDelta) + bytesSize(m.Key) + bytesSize(m.Value) +
		varintSize(int64(len(m.Headers)))
	for _, h := range m.Headers {
		length += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}

	w.makeRoom(maxVarint32 + length)
	b := binary.AppendVarint(w.buf, int64(length))
	b = append(b, 0) // attributes
	b = binary.AppendVarint(b, timeDelta)
	b = binary.AppendVarint(b, offsetDelta)
	b = appendBytes(b, m.Key)
	b = appendBytes(b, m.Value)
	b = binary.AppendVarint(b, int64(len(m.Headers)))
	for _, h := range m.Headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendBytes(b, h.Value)
	}
	w.buf = b
	w.count++
}

// varintSize returns the bytes of a zigzag varint.
func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// seal compresses the records where it pays and fills the header in. Nothing may be added afterwards.
func (w *batchWriter) seal(codec Codec) error {
	if codec != CodecNone {
		packed, err := compress(make([]byte, batchRecords, len(w.buf)), codec, w.buf[batchRecords:])
		if err != nil {
			return err
		}
		if len(packed) < len(w.buf) {
			w.buf = packed
		} else {
			codec = CodecNone
		}
	}
	be, b := binary.BigEndian, w.buf
	be.PutUint64(b[batchBaseOffset:], 0) // the broker gives the offsets
	be.PutUint32(b[batchLength:], uint32(len(b)-batchPrefix))
	be.PutUint32(b[batchPrefix:], ^uint32(0)) // leader epoch: the broker's
	b[batchMagic] = magicV2
	be.PutUint16(b[batchAttributes:], uint16(codec))
	be.PutUint32(b[batchLastDelta:], uint32(w.count-1))
	be.PutUint64(b[batchFirstTime:], uint64(w.firstTime))
	be.PutUint64(b[batchMaxTime:], uint64(w.maxTime))
	be.PutUint64(b[batchProducerID:], ^uint64(0)) // none: not idempotent
	be.PutUint16(b[batchProducerEpoch:], ^uint16(0))
	be.PutUint32(b[batchBaseSequence:], ^uint32(0))
	be.PutUint32(b[batchCount:], uint32(w.count))
	be.PutUint32(b[batchCRC:], crc32.Checksum(b[batchAttributes:], castagnoli))
	return nil
}
