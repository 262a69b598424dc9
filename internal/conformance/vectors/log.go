package vectors

import (
	"slices"

	"github.com/pondage/pondage/internal/block"
)

// log is one partition of the edge: encoded messages, as a broker keeps them.
type log struct {
	messages []message
	read     int // by the receiver
}

// message is one Kafka message.
type message struct {
	headers []block.RecordHeader
	value   []byte
}

// append copies the message: its makers use their buffers again.
func (l *log) append(headers []block.RecordHeader, value []byte) {
	m := message{value: slices.Clone(value)}
	for _, h := range headers {
		m.headers = append(m.headers, block.RecordHeader{Key: h.Key, Value: slices.Clone(h.Value)})
	}
	l.messages = append(l.messages, m)
}
