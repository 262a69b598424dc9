package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/kafka"
)

// kafkas looks at the brokers and the topics of streams.
func kafkas(ctx context.Context, s *state) []Check {
	cfg, note := s.cfg.Kafka, ""
	switch {
	case len(cfg.Brokers) > 0:
	case s.running != nil && len(s.running.brokers) > 0:
		cfg.Brokers, note = s.running.brokers, " (as the coordinator says)"
	default:
		cfg.Brokers, note = []string{config.DefaultDev().BrokerListen}, " (where pondage dev has its broker)"
	}
	where := strings.Join(cfg.Brokers, ", ") + note
	settings, err := connect.KafkaSettings(cfg)
	if err != nil {
		return []Check{bad(Failing, "kafka", "brokers", err.Error(), "")}
	}
	c, err := kafka.Open(settings)
	if err != nil {
		return []Check{bad(Failing, "kafka", "brokers", err.Error(), "check kafka.brokers")}
	}
	defer c.Close()
	brokers, err := c.BrokerCount(ctx)
	if err != nil {
		return []Check{unreachable(s, settings, where, err)}
	}
	out := []Check{ok("kafka", "brokers", fmt.Sprintf("%d at %s", brokers, where)), automatic(ctx, c)}
	if s.topics.vgroups == 0 {
		return append(out, bad(Skipped, "kafka", "topics", "the coordinator has to say which topics there are", ""))
	}
	for _, name := range s.topics.sources {
		out = append(out, sourceTopic(ctx, c, name))
	}
	for _, name := range s.topics.edges {
		out = append(out, edgeTopic(ctx, c, kafka.EdgeSpec(name, s.topics.vgroups)))
	}
	return out
}

// unreachable tells why the brokers do not answer here. If they answer the cluster, it is only this machine's affair.
func unreachable(s *state, settings kafka.Config, where string, err error) Check {
	why := connect.RefusedKafka(settings, err)
	detail, hint := where+": "+why.Reason, why.Hint+"; name others with --kafka-brokers"
	if s.running != nil && s.running.kafka && len(s.cfg.Kafka.Brokers) == 0 {
		return bad(Warning, "kafka", "brokers", detail+"; the coordinator reaches them", hint)
	}
	return bad(Failing, "kafka", "brokers", detail, hint)
}

// automatic looks whether the brokers make topics that somebody names (DESIGN §4: they must not).
func automatic(ctx context.Context, c *kafka.Client) Check {
	const name = "automatic topics"
	settings, err := c.BrokerSetting(ctx, kafka.SettingAutoCreate)
	if err != nil || len(settings) == 0 {
		return bad(Skipped, "kafka", name, "the brokers do not show "+kafka.SettingAutoCreate, "")
	}
	for _, id := range slices.Sorted(maps.Keys(settings)) {
		if settings[id] == "true" {
			return bad(Warning, "kafka", name, fmt.Sprintf("broker %d makes every topic that somebody names: one that was deleted comes back empty", id),
				"set "+kafka.SettingAutoCreate+"=false on all brokers")
		}
	}
	return ok("kafka", name, "off")
}

func topicName(name string) string { return "topic " + name }

func sourceTopic(ctx context.Context, c *kafka.Client, name string) Check {
	t, err := c.Topic(ctx, name)
	if err != nil {
		return missing(name, err, "create it, or send records with pondage ingest; a stream whose topic is gone has stopped")
	}
	return replicas(t)
}

func missing(name string, err error, hint string) Check {
	if kafka.CodeOf(err) == kafka.CodeTopicUnknown {
		return bad(Failing, "kafka", topicName(name), "does not exist", hint)
	}
	return bad(Failing, "kafka", topicName(name), err.Error(), "")
}

// replicas looks whether the topic's partitions are led and have all their replicas.
func replicas(t kafka.Topic) Check {
	var leaderless, behind []string
	for i, p := range t.Partitions {
		switch {
		case p.Leader < 0:
			leaderless = append(leaderless, fmt.Sprint(i))
		case len(p.InSync) < len(p.Replicas):
			behind = append(behind, fmt.Sprint(i))
		}
	}
	name := topicName(t.Name)
	switch {
	case len(leaderless) > 0:
		return bad(Failing, "kafka", name, "partitions without a leader: "+list(leaderless), "look at the brokers that hold them")
	case len(behind) > 0:
		return bad(Warning, "kafka", name, "partitions with replicas behind: "+list(behind), "look at the brokers that hold them")
	}
	return ok("kafka", name, render.Count(len(t.Partitions), "partition"))
}

// edgeTopic compares a topic with what it must be (DESIGN §4).
func edgeTopic(ctx context.Context, c *kafka.Client, want kafka.TopicSpec) Check {
	t, err := c.Topic(ctx, want.Name)
	if err != nil {
		return missing(want.Name, err, "it is made again with the next stage: pondage stream reset")
	}
	settings, err := c.Settings(ctx, want.Name)
	if err != nil {
		return missing(want.Name, err, "")
	}
	var differences []string
	if len(t.Partitions) != want.Partitions {
		differences = append(differences, fmt.Sprintf("partitions is %d, must be %d", len(t.Partitions), want.Partitions))
	}
	for _, name := range slices.Sorted(maps.Keys(want.Settings)) {
		if found := settings[name]; found != want.Settings[name] {
			differences = append(differences, fmt.Sprintf("%s is %s, must be %s", name, found, want.Settings[name]))
		}
	}
	if len(differences) > 0 {
		return bad(Failing, "kafka", topicName(want.Name), strings.Join(differences, "; "), "change the topic, or delete it and reset the stream: it is made again")
	}
	return replicas(t)
}

// isBroker tells whether a Kafka broker answers at the address.
func isBroker(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, whoTimeout)
	defer cancel()
	c, err := kafka.Open(kafka.Config{Brokers: []string{address}})
	if err != nil {
		return false
	}
	defer c.Close()
	return c.Ping(ctx) == nil
}
