package kafka

import (
	"encoding/binary"

	"github.com/pondage/pondage/internal/ident"
)

// EncodeForTest returns a batch of the values.
func EncodeForTest(codec Codec, values ...string) []byte {
	var w batchWriter
	w.reset(0)
	for i, v := range values {
		w.add(&Message{Value: []byte(v)}, int64(i))
	}
	if err := w.seal(codec); err != nil {
		panic(err)
	}
	return w.buf
}

// ChunkForTest returns a chunk of test/0 from an offset on; base moves the first batch there.
func ChunkForTest(from ident.NextOffset, raw []byte, base ...uint64) *Chunk {
	for _, b := range base {
		binary.BigEndian.PutUint64(raw, b)
	}
	return &Chunk{Topic: "test", From: from, batches: raw}
}
