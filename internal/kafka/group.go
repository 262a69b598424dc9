package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/pondage/pondage/internal/ident"
)

// GroupOffsets publishes positions in a topic as the committed offsets of a consumer group that has no members: what tools
// that watch groups know. They only rise, and one holder of a transactional id writes them: one that was made later for the same
// id fences it. Its methods are not for concurrent use, but for Close.
type GroupOffsets struct {
	id, group, topic string
	client           *kgo.Client
	producer         int64
	epoch            int16
	published        Offsets
	broken           error // after an error nothing more is written: another holder may, and begins with what is there
}

// noGeneration is the generation of a commit by who is no member of the group.
const noGeneration = -1

// NewGroupOffsets takes over the transactional id, and reads what the group says of the topic: nobody but this holder
// writes that afterwards.
//
// Errors: transient ones, and the named stops.
func (c *Client) NewGroupOffsets(ctx context.Context, id, group, topic string) (*GroupOffsets, error) {
	op := "take over transactional id " + id
	ctx, cancel := context.WithTimeout(ctx, TransactionTimeout)
	defer cancel()
	// In later versions the end of a transaction gives its producer another epoch: the older form needs no such account.
	client, err := kgo.NewClient(append(slices.Clone(c.options), kgo.MaxVersions(kversion.V3_6_0()))...)
	if err != nil {
		return nil, classify(op, topic, NoPartition, err)
	}
	g := &GroupOffsets{id: id, group: group, topic: topic, client: client, published: Offsets{}}
	if err := g.takeOver(ctx); err != nil {
		client.Close()
		return nil, classify(op, topic, NoPartition, err)
	}
	return g, nil
}

func (g *GroupOffsets) takeOver(ctx context.Context) error {
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &g.id, int32(TransactionTimeout.Milliseconds())
	var mine *kmsg.InitProducerIDResponse
	err := whileEnding(ctx, func() (err error) {
		if mine, err = init.RequestWith(ctx, g.client); err == nil {
			err = kerr.ErrorForCode(mine.ErrorCode)
		}
		return err
	})
	if err != nil {
		return err
	}
	g.producer, g.epoch = mine.ProducerID, mine.ProducerEpoch
	there, err := kadm.NewClient(g.client).FetchOffsets(kadm.RequireStable(ctx), g.group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for n, o := range there[g.topic] {
		if o.Err != nil {
			return o.Err
		}
		g.published[ident.Partition(n)] = ident.NextOffset(o.At)
	}
	return nil
}

// Raise publishes the positions that are above those that are published, in one transaction.
//
// Errors: CodeFenced when another holder has taken the id over, and others. After any of them this one publishes nothing
// more; a new one may.
func (g *GroupOffsets) Raise(ctx context.Context, to Offsets) error {
	if g.broken != nil {
		return g.broken
	}
	higher := maps.Clone(to)
	maps.DeleteFunc(higher, func(p ident.Partition, next ident.NextOffset) bool {
		was, known := g.published[p]
		return known && next <= was
	})
	if len(higher) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, TransactionTimeout)
	defer cancel()
	if err := g.commit(ctx, higher); err != nil {
		g.broken = classifyFence("publish the offsets of group "+g.group, g.topic, err)
		return g.broken
	}
	maps.Copy(g.published, higher)
	return nil
}

func (g *GroupOffsets) commit(ctx context.Context, to Offsets) error {
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = g.id, g.producer, g.epoch, g.group
	err := whileEnding(ctx, func() error {
		added, err := add.RequestWith(ctx, g.client)
		if err == nil {
			err = kerr.ErrorForCode(added.ErrorCode)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := g.write(ctx, to); err != nil {
		return err
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = g.id, g.producer, g.epoch, true
	ended, err := end.RequestWith(ctx, g.client)
	if err == nil {
		err = kerr.ErrorForCode(ended.ErrorCode)
	}
	return err
}

// endingPause is how long a transaction's end may take a broker beyond its answer: a write to its log.
const endingPause = 50 * time.Millisecond

// whileEnding repeats what a broker refuses for as long as it ends the transaction before.
func whileEnding(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(endingPause):
		}
	}
}

// write adds the offsets to the transaction.
func (g *GroupOffsets) write(ctx context.Context, to Offsets) error {
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch, commit.Generation = g.id, g.group, g.producer, g.epoch, noGeneration
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = g.topic
	for _, n := range slices.Sorted(maps.Keys(to)) {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(n), int64(to[n])
		topic.Partitions = append(topic.Partitions, p)
	}
	commit.Topics = append(commit.Topics, topic)
	committed, err := commit.RequestWith(ctx, g.client)
	if err != nil {
		return err
	}
	for _, t := range committed.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteGroup deletes a consumer group without members, and its offsets. One that is not there is no error.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	_, err := c.admin.DeleteGroup(ctx, group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return classify("delete group "+group, "", NoPartition, err)
}

// Close ends the connections. An open transaction stays the broker's, or the next holder's, to end.
func (g *GroupOffsets) Close() { g.client.Close() }

// classifyFence is classify for what a holder of a transactional id meets.
func classifyFence(op, topic string, err error) error {
	if fenced(err) {
		return &Error{Code: CodeFenced, Op: op, Topic: topic, Partition: NoPartition, Err: err}
	}
	return classify(op, topic, NoPartition, err)
}

// fenced tells whether another holder has taken a transactional id over.
func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.InvalidProducerIDMapping)
}
