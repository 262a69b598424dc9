package outside

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// codeBadOffsets is the code of offsets that the topic does not have.
const codeBadOffsets = "out_of_range"

// topicLog is the partitions of one topic, whose bounds are asked for when they are needed.
type topicLog struct {
	ctx        context.Context
	client     *kafka.Client
	topic      string
	partitions int
}

// resolve turns a position into an offset of every partition. latest is what "latest" means: the last stable offset, so
// that a bounded run ends before what is still in an open transaction.
func (l *topicLog) resolve(pointer string, p control.Position, latest func(context.Context, string) (kafka.Offsets, error)) (kafka.Offsets, error) {
	switch p.Kind {
	case control.PositionEarliest:
		return l.ask(l.client.Starts(l.ctx, l.topic))
	case control.PositionLatest:
		return l.ask(latest(l.ctx, l.topic))
	case control.PositionTime:
		return l.ask(l.client.At(l.ctx, l.topic, int64(p.Time)))
	case control.PositionOffsets:
		return l.named(pointer, p.Offsets)
	}
	return nil, fmt.Errorf("resolve %s of topic %s: unknown kind of position %q", pointer, l.topic, p.Kind)
}

func (l *topicLog) ask(o kafka.Offsets, err error) (kafka.Offsets, error) { return o, topicError(err) }

// named checks offsets that a user has written: partitions of the topic, within its log. A partition that is not named
// begins (or ends) where its log begins.
func (l *topicLog) named(pointer string, offsets map[ident.Partition]ident.NextOffset) (kafka.Offsets, error) {
	starts, err := l.ask(l.client.Starts(l.ctx, l.topic))
	if err != nil {
		return nil, err
	}
	ends, err := l.ask(l.client.Ends(l.ctx, l.topic))
	if err != nil {
		return nil, err
	}
	var faults invalid.Collector
	for p, o := range offsets {
		at := fmt.Sprintf("%s/offsets/%d", pointer, p)
		switch {
		case p < 0 || int(p) >= l.partitions:
			faults.Addf(codeBadOffsets, at, "topic %s has no partition %d: it has %d", l.topic, p, l.partitions)
		case o < starts[p] || o > ends[p]:
			faults.Addf(codeBadOffsets, at, "offset %d is outside of partition %d, which has %d to %d", o, p, starts[p], ends[p])
		default:
			starts[p] = o
		}
	}
	return starts, faults.Err()
}
