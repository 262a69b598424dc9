package kafka

import (
	"encoding/base64"
	"maps"

	"github.com/pondage/pondage/internal/ident"
)

// TopicID is the identity of a topic: a topic deleted and made again under one name has another one (trap T24).
type TopicID [16]byte

// String returns the form that Kafka's tools print, URL-safe base64 without padding.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero tells whether the id is missing.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID is the inverse of TopicID.String.
func ParseTopicID(s string) (TopicID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(TopicID{}) {
		return TopicID{}, &Error{Code: CodeInvalidRequest, Op: "parse topic id", Partition: NoPartition, Detail: s, Err: err}
	}
	return TopicID(b), nil
}

// Topic is what the brokers say about a topic.
type Topic struct {
	Name       string
	ID         TopicID
	Partitions []TopicPartition // index is the partition's number
}

// TopicPartition is one partition of a Topic.
type TopicPartition struct {
	Leader      int32   // broker id; −1 while there is none
	LeaderEpoch int32   // rises with each election
	Replicas    []int32 // broker ids
	InSync      []int32 // broker ids
}

// TopicSpec says how a topic is to be made, or must be.
type TopicSpec struct {
	Name       string
	Partitions int
	// ReplicationFactor is lowered to the number of brokers; 0 takes the cluster's default. A topic that is there must only
	// be safe (safeReplicas): which brokers are up at the moment says nothing about it.
	ReplicationFactor int
	// Settings are topic-level settings, "retention.ms" → "86400000". Kafka's defaults hold for all others.
	Settings map[string]string
	// InSync says how many of a topic's replicas must have a write before it is acknowledged; nil: as the cluster does.
	InSync func(replicas int) int
}

// safeReplicas is how many copies of a topic outlive the loss of a broker.
const safeReplicas = 2

// Majority is more than half of the replicas.
func Majority(replicas int) int { return replicas/2 + 1 }

// settings are those of a topic with so many replicas.
func (s TopicSpec) settings(replicas int) map[string]string {
	if s.InSync == nil {
		return s.Settings
	}
	all := map[string]string{SettingMinInSync: itoa(s.InSync(replicas))}
	maps.Copy(all, s.Settings)
	return all
}

// Bounds and settings of edge topics (DESIGN §4).
const (
	EdgeMaxMessageBytes   = 8 << 20  // bytes of a record batch
	EdgeRetentionMs       = 86400000 // 24 h: nothing on an edge is needed that long
	EdgeReplicationFactor = 3        // lowered to the number of brokers
)

// Names of the topic settings that Pondage sets or reads.
const (
	SettingMaxMessageBytes = "max.message.bytes"
	SettingMinInSync       = "min.insync.replicas"
	SettingUncleanElection = "unclean.leader.election.enable"
	SettingTimestampType   = "message.timestamp.type"
	SettingRetentionMs     = "retention.ms"
	SettingCleanupPolicy   = "cleanup.policy"
	SettingSegmentMs       = "segment.ms"
	SettingSegmentBytes    = "segment.bytes"
)

// CleanupCompact is the cleanup.policy of a topic that keeps the newest record of each key.
const CleanupCompact = "compact"

// EdgeSpec returns what an edge topic must be (DESIGN §4): v partitions, replicated min(3, brokers) times, a majority in
// sync, no unclean election, 8 MiB batches, LogAppendTime, 24 h.
func EdgeSpec(name string, v int) TopicSpec {
	return TopicSpec{
		Name: name, Partitions: v, ReplicationFactor: EdgeReplicationFactor, InSync: Majority,
		Settings: map[string]string{
			SettingUncleanElection: "false",
			SettingMaxMessageBytes: itoa(EdgeMaxMessageBytes),
			SettingTimestampType:   "LogAppendTime",
			SettingRetentionMs:     itoa(EdgeRetentionMs),
			SettingCleanupPolicy:   "delete",
		},
	}
}

// Offsets are positions in a topic, by partition.
type Offsets map[ident.Partition]ident.NextOffset
