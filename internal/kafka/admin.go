package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	// visibleWithin bounds how long brokers may take to hear of a topic that was made or deleted.
	visibleWithin = 10 * time.Second
	// visiblePoll is how often they are asked meanwhile.
	visiblePoll = 20 * time.Millisecond
	// visibleAsk bounds the question to one broker: one that is down has to learn everything before it serves again.
	visibleAsk = time.Second
)

// CreateTopic makes a topic and waits until it has leaders and every broker shows it. One that exists is refused with CodeTopicExists.
func (c *Client) CreateTopic(ctx context.Context, spec TopicSpec) (Topic, error) {
	brokers, err := c.BrokerCount(ctx)
	if err != nil {
		return Topic{}, err
	}
	replicas := -1 // the cluster's default
	if spec.ReplicationFactor > 0 {
		replicas = min(spec.ReplicationFactor, brokers)
	}
	settings := map[string]*string{}
	for k, v := range spec.settings(replicas) {
		settings[k] = &v
	}
	asked, cancel := c.deadline(ctx)
	defer cancel()
	made, err := c.admin.CreateTopic(asked, int32(spec.Partitions), int16(replicas), settings, spec.Name)
	if err != nil {
		if made.ErrMessage != "" {
			err = fmt.Errorf("%s: %w", made.ErrMessage, err)
		}
		return Topic{}, classify("create topic", spec.Name, NoPartition, err)
	}
	return c.awaitTopic(ctx, spec.Name, func(t Topic, err error) bool {
		return err == nil && t.ID == TopicID(made.ID) && t.led()
	})
}

// led tells whether every partition has a leader.
func (t Topic) led() bool {
	return !slices.ContainsFunc(t.Partitions, func(p TopicPartition) bool { return p.Leader < 0 })
}

// awaitTopic asks for a topic until all brokers show it as wanted, or until visibleWithin. They hear of a change one after
// the other, and the next question may go to any of them.
func (c *Client) awaitTopic(ctx context.Context, name string, wanted func(Topic, error) bool) (Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	for {
		t, err := c.topicEverywhere(ctx, name, wanted)
		if wanted(t, err) {
			return t, nil
		}
		if !pause(ctx, visiblePoll) {
			return Topic{}, &Error{
				Code: CodeBrokerBusy, Op: "wait for topic", Topic: name, Partition: NoPartition,
				Detail: "the brokers do not show the change yet", Err: errors.Join(err, ctx.Err()),
			}
		}
	}
}

// topicEverywhere asks every broker for a topic. It returns the first answer that is not as wanted, else the last one. A
// broker that does not answer is left out.
func (c *Client) topicEverywhere(ctx context.Context, name string, wanted func(Topic, error) bool) (Topic, error) {
	m, err := c.metadata(ctx, []string{name})
	if err != nil {
		return Topic{}, err
	}
	topic, err := m.topic(name)
	for id := range m.brokers {
		if !wanted(topic, err) {
			break
		}
		asked, cancel := context.WithTimeout(ctx, visibleAsk)
		if at, failed := askMetadata(asked, c.kgo.Broker(int(id)), []string{name}); failed == nil {
			topic, err = at.topic(name)
		}
		cancel()
	}
	return topic, err
}

// DeleteTopic deletes a topic and waits until no broker shows it any more. A missing one is no error.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	asked, cancel := c.deadline(ctx)
	defer cancel()
	_, err := c.admin.DeleteTopic(asked, name)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	if err != nil {
		return classify("delete topic", name, NoPartition, err)
	}
	_, err = c.awaitTopic(ctx, name, func(_ Topic, err error) bool { return CodeOf(err) == CodeTopicUnknown })
	return err
}

// EnsureTopic returns the topic of the spec, made where missing. A topic that is there with other partitions, too few replicas or
// settings is refused with CodeTopicSettings and the exact difference; it is never changed.
func (c *Client) EnsureTopic(ctx context.Context, spec TopicSpec) (Topic, error) {
	topic, err := c.CreateTopic(ctx, spec)
	if CodeOf(err) != CodeTopicExists {
		return topic, err
	}
	topic, err = c.awaitTopic(ctx, spec.Name, func(t Topic, err error) bool { return err == nil && t.led() })
	if err != nil {
		return Topic{}, err
	}
	settings, err := c.Settings(ctx, spec.Name)
	if err != nil {
		return Topic{}, err
	}
	brokers, err := c.BrokerCount(ctx)
	if err != nil {
		return Topic{}, err
	}
	if diff := spec.differences(topic, settings, brokers); len(diff) > 0 {
		return Topic{}, &Error{
			Code: CodeTopicSettings, Op: "check topic", Topic: spec.Name, Partition: NoPartition,
			Detail: strings.Join(diff, "; ") + ". Change the topic, or delete it: it is made again",
		}
	}
	return topic, nil
}

// differences lists what of a topic is not as the spec says, in a fixed order.
func (s TopicSpec) differences(t Topic, settings map[string]string, brokers int) []string {
	var diff []string
	add := func(what string, found, wanted any) {
		diff = append(diff, fmt.Sprintf("%s is %v, must be %v", what, found, wanted))
	}
	if len(t.Partitions) != s.Partitions {
		add("partitions", len(t.Partitions), s.Partitions)
	}
	replicas := 0
	if len(t.Partitions) > 0 {
		replicas = len(t.Partitions[0].Replicas)
	}
	// A topic with three replicas is right while one of three brokers is down, and so is one with two that was made then.
	if want := min(s.ReplicationFactor, brokers, safeReplicas); replicas < want {
		add("replication factor", replicas, fmt.Sprintf("at least %d", want))
	}
	wanted := s.settings(replicas)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if found, ok := settings[name]; !ok {
			add(name, "not set", wanted[name])
		} else if found != wanted[name] {
			add(name, found, wanted[name])
		}
	}
	return diff
}

// Settings returns the topic's settings in effect, the cluster's defaults among them.
func (c *Client) Settings(ctx context.Context, topic string) (map[string]string, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	answer, err := c.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, classify("describe settings", topic, NoPartition, err)
	}
	found, err := answer.On(topic, func(r *kadm.ResourceConfig) error { return r.Err })
	if err != nil {
		return nil, classify("describe settings", topic, NoPartition, err)
	}
	settings := make(map[string]string, len(found.Configs))
	for _, s := range found.Configs {
		settings[s.Key] = s.MaybeValue()
	}
	return settings, nil
}

// SettingAutoCreate is a broker's: whether a topic comes into being when somebody names it.
const SettingAutoCreate = "auto.create.topics.enable"

// BrokerSetting returns a broker-level setting in effect, by broker. Brokers that do not show it are left out.
func (c *Client) BrokerSetting(ctx context.Context, name string) (map[int32]string, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	brokers, err := c.admin.ListBrokers(ctx)
	if err != nil {
		return nil, classify("list brokers", "", NoPartition, err)
	}
	answer, err := c.admin.DescribeBrokerConfigs(ctx, brokers.NodeIDs()...)
	if err != nil {
		return nil, classify("describe settings", "", NoPartition, err)
	}
	found := map[int32]string{}
	for _, broker := range answer {
		if broker.Err != nil {
			return nil, classify("describe settings", "", NoPartition, broker.Err)
		}
		id, err := strconv.ParseInt(broker.Name, 10, 32)
		if err != nil {
			return nil, &Error{Code: CodeInvalidRequest, Op: "describe settings", Partition: NoPartition, Detail: "the broker calls itself " + broker.Name}
		}
		for _, s := range broker.Configs {
			if s.Key == name && s.Value != nil {
				found[int32(id)] = *s.Value
			}
		}
	}
	return found, nil
}

// kafkaMaxMessageBytes is Kafka's default of max.message.bytes: what holds where we may not ask.
const kafkaMaxMessageBytes = 1048588

// maxMessageBytes returns the topic's limit for one batch, asked for once.
func (c *Client) maxMessageBytes(ctx context.Context, topic Topic) (int, error) {
	c.mu.Lock()
	known, ok := c.maxBytes[topic.ID]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	limit := kafkaMaxMessageBytes
	settings, err := c.Settings(ctx, topic.Name)
	if err != nil && CodeOf(err) != CodeNotAuthorized {
		return 0, err
	}
	if n, err := strconv.Atoi(settings[SettingMaxMessageBytes]); err == nil && n > 0 {
		limit = n
	}
	c.mu.Lock()
	c.maxBytes[topic.ID] = limit
	c.mu.Unlock()
	return limit, nil
}
