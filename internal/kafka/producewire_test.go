package kafka_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"github.com/pondage/pondage/internal/kafka"
)

// TestAProduceRequestIsKafkaGos holds the request, written in pieces, to the one that kafka-go writes.
func TestAProduceRequestIsKafkaGos(t *testing.T) {
	t.Parallel()
	const (
		correlation = 77
		clientID    = "pondage"
		timeout     = 5 * time.Second
		version     = 8
		acksAll     = -1
	)
	for _, c := range []struct {
		topics     []string
		partitions int
	}{{[]string{"a"}, 1}, {[]string{"b", "a", "long.name"}, 3}} {
		frame, batches := kafka.ProduceFrameForTest(correlation, clientID, timeout, c.topics, c.partitions)
		req := &rawproduce.Request{Acks: acksAll, Timeout: int32(timeout.Milliseconds())}
		sorted := []string{"a", "b", "long.name"}[:len(c.topics)]
		for _, topic := range sorted {
			rt := rawproduce.RequestTopic{Topic: topic}
			for p := range c.partitions {
				raw := binary.BigEndian.AppendUint32(nil, uint32(len(batches[0])))
				rt.Partitions = append(rt.Partitions, rawproduce.RequestPartition{
					Partition: int32(p), RecordSet: protocol.RawRecordSet{Reader: io.MultiReader(bytes.NewReader(raw), bytes.NewReader(batches[0]))},
				})
				batches = batches[1:]
			}
			req.Topics = append(req.Topics, rt)
		}
		var want bytes.Buffer
		if err := protocol.WriteRequest(&want, version, correlation, clientID, req); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frame, want.Bytes()) {
			t.Errorf("%v × %d:\n%x, want\n%x", c.topics, c.partitions, frame, want.Bytes())
		}
	}
}
