package kafka

import (
	"encoding/binary"
	"time"

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

// ProduceFrameForTest returns a whole produce request of a batch of one value for each partition of each topic, and the
// batches in the order of topics and partitions.
func ProduceFrameForTest(correlation int32, clientID string, timeout time.Duration, topics []string, partitions int) (frame []byte, batches [][]byte) {
	var attempts []attempt
	for p := range partitions {
		for _, topic := range topics {
			q := &Queue{topic: Topic{Name: topic}, partition: ident.Partition(p)}
			attempts = append(attempts, attempt{q, &batch{batchWriter: batchWriter{buf: EncodeForTest(CodecNone, topic)}}})
		}
	}
	var f produceFrame
	for _, piece := range f.build(correlation, clientID, timeout, attempts) {
		frame = append(frame, piece...)
	}
	for _, a := range attempts {
		batches = append(batches, a.batch.buf)
	}
	return frame, batches
}
