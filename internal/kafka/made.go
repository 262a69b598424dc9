package kafka

import (
	"encoding/binary"

	"github.com/pondage/pondage/internal/ident"
)

// ChunkSpec describes a chunk that no broker has sent: one of a log in memory, for simulations and tests of those who
// take chunks.
type ChunkSpec struct {
	Topic     string
	Partition ident.Partition
	From      ident.NextOffset
	// Messages become one batch, the first at From. Their Done is not called.
	Messages []Message
	// HighWatermark and LastStable are the ends of the log; at least the end of the chunk.
	HighWatermark, LastStable ident.NextOffset
	Isolation                 Isolation
	Err                       error
	// Release is called once, when the chunk is given back; nil: nobody asks.
	Release func()
}

// NewChunk makes the chunk. It panics where the messages do not make a batch, which a test should see.
func NewChunk(s ChunkSpec) *Chunk {
	c := &Chunk{
		Topic: s.Topic, Partition: s.Partition, From: s.From, Next: s.From + ident.NextOffset(len(s.Messages)),
		Err: s.Err, committed: s.Isolation == ReadCommitted, release: s.Release,
	}
	c.HighWatermark, c.LastStable = max(s.HighWatermark, c.Next), max(s.LastStable, c.Next)
	c.Filled = c.Lag() > 0
	if len(s.Messages) == 0 {
		return c
	}
	var w batchWriter
	w.reset(0)
	for i := range s.Messages {
		w.add(&s.Messages[i], s.Messages[i].TimestampMs)
	}
	if err := w.seal(CodecNone); err != nil {
		panic(err)
	}
	binary.BigEndian.PutUint64(w.buf[batchBaseOffset:], uint64(s.From))
	c.batches = w.buf
	return c
}
