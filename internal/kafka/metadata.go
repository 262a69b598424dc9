package kafka

import (
	"context"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
)

// metadata is what the brokers say about themselves and some topics.
type metadata struct {
	brokers map[int32]string // addresses
	topics  map[string]topicMeta
}

// topicMeta is a topic, or why it cannot be had.
type topicMeta struct {
	Topic
	err error
}

// metadata asks a broker. An error is transient or a refusal of the whole request; each topic has its own.
func (c *Client) metadata(ctx context.Context, topics []string) (metadata, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	answer, err := c.admin.Metadata(ctx, topics...)
	if err != nil {
		return metadata{}, classify("metadata", "", NoPartition, err)
	}
	m := metadata{brokers: map[int32]string{}, topics: map[string]topicMeta{}}
	for _, b := range answer.Brokers {
		m.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for name, t := range answer.Topics {
		m.topics[name] = topicOf(t)
	}
	return m, nil
}

func topicOf(t kadm.TopicDetail) topicMeta {
	m := topicMeta{Topic: Topic{Name: t.Topic, ID: TopicID(t.ID)}, err: t.Err}
	m.Partitions = make([]TopicPartition, len(t.Partitions))
	for i := range m.Partitions {
		m.Partitions[i].Leader = -1 // a hole in the numbers: not known yet
	}
	for n, p := range t.Partitions {
		if int(n) < len(m.Partitions) {
			m.Partitions[n] = TopicPartition{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, InSync: p.ISR}
		}
	}
	return m
}

// Topic returns what the brokers say about a topic. A partition's leader may be missing (−1) for a while.
func (c *Client) Topic(ctx context.Context, name string) (Topic, error) {
	m, err := c.metadata(ctx, []string{name})
	if err != nil {
		return Topic{}, err
	}
	t, ok := m.topics[name]
	if !ok {
		return Topic{}, &Error{Code: CodeTopicUnknown, Op: "metadata", Topic: name, Partition: NoPartition}
	}
	return t.Topic, classify("metadata", name, NoPartition, t.err)
}
