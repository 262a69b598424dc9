package kafka

import (
	"strings"
	"testing"
)

// TestAnEdgeTopicIsRightWhicheverBrokersAreUp: a stage begins while a broker is down, and after it has come back; only a topic
// without a second copy, where there could be one, is wrong, and one whose writes do not wait for a majority of its copies.
func TestAnEdgeTopicIsRightWhicheverBrokersAreUp(t *testing.T) {
	t.Parallel()
	spec := EdgeSpec("edge", 1)
	for made := range EdgeReplicationFactor { // so many brokers are down when the topic is made
		replicas := EdgeReplicationFactor - made
		topic := Topic{Partitions: []TopicPartition{{Replicas: make([]int32, replicas)}}}
		settings := spec.settings(replicas)
		for checked := range EdgeReplicationFactor {
			want := ""
			if replicas == 1 && checked < EdgeReplicationFactor-1 {
				want = "replication factor is 1, must be at least 2"
			}
			if got := strings.Join(spec.differences(topic, settings, EdgeReplicationFactor-checked), "; "); got != want {
				t.Errorf("made with %d brokers down, checked with %d: %q, want %q", made, checked, got, want)
			}
		}
		settings[SettingMinInSync] = "1"
		if got := strings.Join(spec.differences(topic, settings, replicas), "; "); replicas > 1 && got != "min.insync.replicas is 1, must be 2" {
			t.Errorf("with %d replicas and writes that wait for one: %q", replicas, got)
		}
	}
}
