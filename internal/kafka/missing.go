package kafka

import "context"

// OutputSpec is the topic of a stream's Kafka output, where Pondage makes it; one that is there is the user's, as it is.
func OutputSpec(name string, vgroups int) TopicSpec {
	return TopicSpec{Name: name, Partitions: vgroups, ReplicationFactor: EdgeReplicationFactor}
}

// Bounds of a segment of the markers' topic: only what is rolled is compacted, and whoever takes an id over reads the partition
// from its start.
const (
	markersSegmentMs    = 3_600_000 // an hour
	markersSegmentBytes = 16 << 20
)

// MarkersSpec is the topic of the markers of transactional Kafka outputs, beside their topics.
func MarkersSpec(name string, vgroups int) TopicSpec {
	s := OutputSpec(name, vgroups)
	s.Settings = map[string]string{
		SettingCleanupPolicy: CleanupCompact, SettingSegmentMs: itoa(markersSegmentMs), SettingSegmentBytes: itoa(markersSegmentBytes),
	}
	return s
}

// MakeMissing makes a topic where there is none. It may be repeated, and called by several at once.
func (c *Client) MakeMissing(ctx context.Context, s TopicSpec) error {
	if _, err := c.Topic(ctx, s.Name); CodeOf(err) != CodeTopicUnknown {
		return err
	}
	if _, err := c.CreateTopic(ctx, s); err != nil && CodeOf(err) != CodeTopicExists {
		return err
	}
	return nil
}
