package outside

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// Topics makes and deletes the topics that belong to streams. It implements control.Edges.
type Topics struct {
	Hub     *connect.Hub
	VGroups int
}

var _ control.Edges = Topics{}

// Late and dead-letter topics hold little, and are kept for a week for people to look at.
const (
	asidePartitions  = 1
	asideRetentionMs = "604800000"
)

// Ensure implements control.Edges.
func (t Topics) Ensure(ctx context.Context, set control.TopicSet) error {
	k, err := t.Hub.Cluster()
	if err != nil {
		return topicError(err)
	}
	for _, name := range set.Edges {
		if _, err := k.Client.EnsureTopic(ctx, kafka.EdgeSpec(name, t.VGroups)); err != nil {
			return topicError(err)
		}
	}
	for _, name := range []string{set.Late, set.Dead} {
		if name == "" {
			continue
		}
		err := k.Client.MakeMissing(ctx, kafka.TopicSpec{
			Name: name, Partitions: asidePartitions, ReplicationFactor: kafka.EdgeReplicationFactor,
			Settings: map[string]string{
				kafka.SettingRetentionMs: asideRetentionMs, kafka.SettingMaxMessageBytes: fmt.Sprint(kafka.EdgeMaxMessageBytes),
			},
		})
		if err != nil {
			return topicError(err)
		}
	}
	if set.Output == "" {
		return nil
	}
	return topicError(t.ensureOutput(ctx, set))
}

// outputWithin bounds looking after an output's topics: brokers that do not answer hold up no stage.
const outputWithin = 5 * time.Second

// ensureOutput makes the output topic on the brokers that the output names, the cluster's unless it names others. It is
// the user's: made where missing, and taken as it is where not. Brokers that are away keep no stream from starting (DESIGN §9):
// the sink makes what is missing when it reaches them.
func (t Topics) ensureOutput(ctx context.Context, set control.TopicSet) error {
	stream, err := spec.ParseStream(set.Stream)
	if err != nil {
		return fmt.Errorf("the output topic %s: %w", set.Output, err)
	}
	k, err := t.Hub.Kafka(stream.Outputs.Kafka.Connection)
	if err != nil {
		return fmt.Errorf("the output topic %s: %w", set.Output, err)
	}
	within, cancel := context.WithTimeout(ctx, outputWithin)
	defer cancel()
	err = k.Client.MakeMissing(within, kafka.OutputSpec(set.Output, t.VGroups))
	if err == nil && stream.Outputs.Kafka.Delivery == spec.DeliveryTransactional {
		err = k.Client.MakeMissing(within, kafka.MarkersSpec(set.Commits, t.VGroups))
	}
	if kafka.Transient(err) || within.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// Forget implements control.Edges. A stream that is made again under the name begins without markers; where they stay, its
// outputs set them back themselves.
func (t Topics) Forget(ctx context.Context, set control.TopicSet) error {
	if set.Output == "" {
		return nil
	}
	stream, err := spec.ParseStream(set.Stream)
	if err != nil {
		return err
	}
	if stream.Outputs.Kafka == nil || stream.Outputs.Kafka.Delivery != spec.DeliveryTransactional {
		return nil
	}
	k, err := t.Hub.Kafka(stream.Outputs.Kafka.Connection)
	if err != nil {
		return err
	}
	commits, err := k.Client.Topic(ctx, set.Commits)
	if kafka.CodeOf(err) == kafka.CodeTopicUnknown {
		return nil // nothing was committed
	}
	if err != nil {
		return err
	}
	for _, id := range set.Transactions {
		if err := forgetTransactions(ctx, k.Client, set.Commits, len(commits.Partitions), id); err != nil {
			return err
		}
	}
	return nil
}

// forgetTransactions takes an id over and puts a tombstone in the place of its marker, in whichever partition that is.
func forgetTransactions(ctx context.Context, c *kafka.Client, topic string, partitions int, id string) error {
	tx, err := c.NewTransactor(ctx, id)
	if err != nil {
		return err
	}
	defer tx.Close()
	return tx.Write(ctx, func(send func(kafka.TransactionRecord) error) error {
		for p := range partitions {
			if err := send(kafka.TransactionRecord{Topic: topic, Partition: ident.Partition(p), Message: kafka.Message{Key: []byte(id)}}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete implements control.Edges.
func (t Topics) Delete(ctx context.Context, set control.TopicSet) error {
	k, err := t.Hub.Cluster()
	if err != nil {
		return topicError(err)
	}
	for _, name := range append(set.Edges, set.Late) {
		if err := k.Client.DeleteTopic(ctx, name); err != nil {
			return topicError(err)
		}
	}
	t.forgetPositions(ctx, set)
	return nil
}

// forgetPositions deletes the group of a dropped stream's source positions, so that a stream which is made again under the name
// publishes its own: they only rise. Nothing else stands on it, and brokers forget it by time: what fails keeps no stream.
func (t Topics) forgetPositions(ctx context.Context, set control.TopicSet) {
	src, err := spec.ParseSource(set.Source)
	if err != nil || src.Kafka == nil {
		return
	}
	if k, err := t.Hub.Kafka(src.Kafka.Connection); err == nil {
		_ = k.Client.DeleteGroup(ctx, set.Group)
	}
}

// Offsets resolves positions. It implements control.Kafka.
type Offsets struct{ Hub *connect.Hub }

var _ control.Kafka = Offsets{}

// Resolve implements control.Kafka.
func (o Offsets) Resolve(ctx context.Context, ref control.TopicRef, start control.Position, until *control.Position) ([]control.SourcePartition, error) {
	src, err := spec.ParseSource(ref.Source)
	if err != nil {
		return nil, err
	}
	k, err := o.Hub.Kafka(src.Kafka.Connection)
	if err != nil {
		return nil, topicError(err)
	}
	client := k.Client
	topic, err := client.Topic(ctx, ref.Topic)
	if err != nil {
		return nil, sourceTopicError(src, err)
	}
	log := &topicLog{ctx: ctx, client: client, topic: ref.Topic, partitions: len(topic.Partitions)}
	starts, err := log.resolve("/start", start, client.Stables)
	if err != nil {
		return nil, err
	}
	var ends kafka.Offsets
	if until != nil {
		if ends, err = log.resolve("/until", *until, client.Stables); err != nil {
			return nil, err
		}
	}
	out := make([]control.SourcePartition, len(topic.Partitions))
	for n := range out {
		p := ident.Partition(n)
		out[n] = control.SourcePartition{Topic: ref.Topic, TopicID: topic.ID.String(), Partition: p, Start: starts[p]}
		if until != nil {
			end := max(ends[p], starts[p]) // an end before the start reads nothing
			out[n].Until = &end
		}
	}
	return out, nil
}

// sourceTopicError is topicError for the topic of a source: one that is missing is its owner's to make.
func sourceTopicError(src *spec.Source, err error) error {
	named := topicError(err)
	var e *control.Error
	if errors.As(named, &e) && e.Code == control.CodeTopicUnknown {
		topic := src.Kafka.Topic
		e.Message = fmt.Sprintf("the topic %s of source %s does not exist", topic, src.Name)
		e.Hint = fmt.Sprintf("make it (pondage topic create %s --partitions 4, or kafka-topics.sh --create --topic %s --partitions 4), or send the first records: "+
			"pondage ingest %s FILE makes it, too; then repeat this", topic, topic, src.Name)
	}
	return named
}

// topicError gives an error of Kafka control's form.
func topicError(err error) error {
	if err == nil {
		return nil
	}
	var known *kafka.Error
	if !errors.As(err, &known) {
		return err
	}
	out := &control.Error{Code: string(known.Code), Message: known.Error(), Retryable: known.Transient(), Err: err}
	switch {
	case known.Code == kafka.CodeTopicUnknown:
		out.Code, out.Message = control.CodeTopicUnknown, fmt.Sprintf("the topic %s does not exist", known.Topic)
		out.Hint = "make it, then repeat this request"
	case known.Transient():
		out.Code = control.CodeKafkaUnreachable
		out.Hint = "check the brokers' addresses and that they run (pondage doctor); then repeat this request"
	}
	return out
}
