package setaside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/scalar"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/stage"
	"github.com/pondage/pondage/services/worker/internal/task"
)

const (
	// replayPending is how much of a partition may be unanswered before the reading of dead letters waits, bytes.
	replayPending = 4 << 20
	// maxRefusals is how many records that cannot be replayed an answer lists (openapi, ReplayAnswer).
	maxRefusals = 1000
)

// Replay appends dead letters of a source to its topic once more, each to the partition it was in, and returns when Kafka
// has them. Nothing is remembered here: that a stream takes one replay per origin is its source tasks' work. So a request
// that failed may be repeated whole.
//
// Errors: *invalid.Error for a choice that cannot be; *problem.Error with source_unknown, stream_unknown,
// broker_unreachable and the like.
func (s *Service) Replay(ctx context.Context, source string, request common.ReplayRequest) (common.ReplayAnswer, error) {
	src, err := s.names.Source(ctx, source)
	if err != nil {
		return common.ReplayAnswer{}, err
	}
	c, err := s.choose(ctx, source, request)
	if err != nil {
		return common.ReplayAnswer{}, err
	}
	dead, err := s.brokers.Cluster()
	if err != nil {
		return common.ReplayAnswer{}, err
	}
	to, err := s.brokers.Kafka(src.Kafka.Connection)
	if err != nil {
		return common.ReplayAnswer{}, err
	}
	topic, err := to.Client.Topic(ctx, src.Kafka.Topic)
	if err != nil {
		return common.ReplayAnswer{}, kafkaProblem(src.Kafka.Topic, err)
	}
	r := &replaying{ctx: ctx, choice: c, to: to, topic: topic, queues: map[ident.Partition]*kafka.Queue{}, seen: map[string]bool{}}
	r.answer.NotReplayed = []common.NotReplayed{} // never null
	defer r.close()
	deadTopic := s.cluster().Name.DeadTopic(source)
	if err := scan(ctx, dead, deadTopic, r.visit); err != nil {
		return common.ReplayAnswer{}, kafkaProblem(deadTopic, r.cause(err))
	}
	if err := r.flush(); err != nil {
		return common.ReplayAnswer{}, kafkaProblem(topic.Name, r.cause(err))
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.records), spot.compare) {
		if !c.records[at].found {
			r.refuse(identity{Topic: topic.Name, Partition: at.partition, Offset: at.offset}, "there is no such dead letter among the newest")
		}
	}
	return r.answer, nil
}

// choose understands a request.
func (s *Service) choose(ctx context.Context, source string, r common.ReplayRequest) (*choice, error) {
	c, err := newChoice(r)
	if err != nil || c.stream == "" {
		return c, err
	}
	st, err := s.names.Stream(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	if reads := st.Plan.Source.Name; reads != source {
		return nil, invalid.New(spec.CodeInvalidValue, "/stream", "stream %s reads source %s", c.stream, reads)
	}
	return c, nil
}

// replaying is one request under way.
type replaying struct {
	ctx    context.Context
	choice *choice
	to     *connect.Kafka
	topic  kafka.Topic
	queues map[ident.Partition]*kafka.Queue
	seen   map[string]bool // identity and stream
	answer common.ReplayAnswer
}

// visit deals with one record of the dead-letter topic.
func (r *replaying) visit(rec *kafka.Record) error {
	id, only := identityOf(rec), header(rec, stage.HeaderStreamOf)
	at, chosen := r.choice.find(id, header(rec, stage.HeaderCode), only)
	if !chosen {
		return nil
	}
	if r.choice.stream != "" {
		only = r.choice.stream
	}
	value := rec.Value
	if at != nil {
		at.found = true
		if at.mended != nil {
			value = at.mended
		}
	}
	key := only + "/" + id.cursor()
	if r.seen[key] {
		return nil
	}
	r.seen[key] = true
	switch {
	case id.Topic == "":
		r.refuse(id, "it is a result, not a record of the source")
	case id.Topic != r.topic.Name:
		r.refuse(id, fmt.Sprintf("the source reads topic %s now", r.topic.Name))
	case id.Partition < 0 || id.Partition >= int64(len(r.topic.Partitions)):
		r.refuse(id, fmt.Sprintf("topic %s has %d partitions", r.topic.Name, len(r.topic.Partitions)))
	case value == nil:
		r.refuse(id, "its bytes were not kept; send it with mended ones")
	default:
		return r.send(id, only, rec.Key, value)
	}
	return nil
}

// send appends a record. One that the topic does not take is no reason to keep back the others.
func (r *replaying) send(id identity, only string, key, value []byte) error {
	p := ident.Partition(id.Partition)
	q := r.queues[p]
	if q == nil {
		var err error
		q, err = r.to.Producer.Open(r.ctx, r.topic.Name, p, kafka.QueueOptions{Mode: kafka.RetryItself, TopicID: r.topic.ID, MaxPendingBytes: replayPending})
		if err != nil {
			return err
		}
		r.queues[p] = q
	}
	origin := task.Origin{Topic: id.Topic, Partition: p, Offset: ident.LastOffset(id.Offset)}
	m := kafka.Message{Key: key, Value: value, Headers: []kafka.Header{{Key: task.HeaderReplay, Value: []byte(origin.String())}}}
	if only != "" {
		m.Headers = append(m.Headers, kafka.Header{Key: task.HeaderReplayStream, Value: []byte(only)})
	}
	err := q.Send(r.ctx, m)
	if kafka.CodeOf(err) == kafka.CodeRecordTooLarge && !errors.Is(q.Err(), err) { // else it is what has stopped the queue
		r.refuse(id, err.Error())
		return nil
	}
	if err == nil {
		r.answer.Replayed++
	}
	return err
}

// refuse notes a record that is not replayed.
func (r *replaying) refuse(id identity, reason string) {
	r.answer.NotReplayedCount++
	if len(r.answer.NotReplayed) < maxRefusals {
		r.answer.NotReplayed = append(r.answer.NotReplayed, common.NotReplayed{
			Topic: id.Topic, Partition: int32(id.Partition), Offset: scalar.Int64(id.Offset), Reason: reason,
		})
	}
}

func (r *replaying) flush() error {
	for _, q := range r.queues {
		if err := q.Flush(r.ctx); err != nil {
			return err
		}
	}
	return nil
}

// cause is what Kafka has against the records, where that is why the time was over.
func (r *replaying) cause(err error) error {
	for _, q := range r.queues {
		if stuck := q.Err(); stuck != nil && r.ctx.Err() != nil {
			return stuck
		}
	}
	return err
}

func (r *replaying) close() {
	for _, q := range r.queues {
		q.Close()
	}
}
