package kafka

import (
	"context"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// metadata asks a broker, without a cache. An error is the whole request's; each topic has its own, so that one that is
// forbidden does not hide the others.
func (c *Client) metadata(ctx context.Context, topics []string) (metadata, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return askMetadata(ctx, c.kgo, topics)
}

// askMetadata asks a broker of the client's choice, or the one that is handed in.
func askMetadata(ctx context.Context, broker kmsg.Requestor, topics []string) (metadata, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	answer, err := req.RequestWith(ctx, broker)
	if err != nil {
		return metadata{}, classify("metadata", "", NoPartition, err)
	}
	m := metadata{brokers: map[int32]string{}, topics: map[string]topicMeta{}}
	for _, b := range answer.Brokers {
		m.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for _, t := range answer.Topics {
		if t.Topic != nil {
			m.topics[*t.Topic] = topicOf(t)
		}
	}
	return m, nil
}

func topicOf(t kmsg.MetadataResponseTopic) topicMeta {
	m := topicMeta{Topic: Topic{Name: *t.Topic, ID: TopicID(t.TopicID)}, err: kerr.ErrorForCode(t.ErrorCode)}
	m.Partitions = make([]TopicPartition, len(t.Partitions))
	for i := range m.Partitions {
		m.Partitions[i].Leader = noLeader // a hole in the numbers: not known yet
	}
	for _, p := range t.Partitions {
		if p.Partition >= 0 && int(p.Partition) < len(m.Partitions) {
			m.Partitions[p.Partition] = TopicPartition{
				Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, InSync: p.ISR,
			}
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
	return m.topic(name)
}

// topic is what the answer says about a topic.
func (m metadata) topic(name string) (Topic, error) {
	t, ok := m.topics[name]
	if !ok {
		return Topic{}, &Error{Code: CodeTopicUnknown, Op: "metadata", Topic: name, Partition: NoPartition}
	}
	return t.Topic, classify("metadata", name, NoPartition, t.err)
}
