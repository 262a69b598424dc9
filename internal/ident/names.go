package ident

import "fmt"

// Cluster is the name of a Pondage cluster: [a-z][a-z0-9_]{0,30}. All topic, group, lock and transactional names start
// with it, so that clusters can share a Kafka and a database.
type Cluster string

// EdgeTopic is the Kafka topic of the edge into the given level of a stream. It carries the stream's id beside its
// name: a stream dropped and made again under one name must not meet the old one's topic while that is being deleted.
func (c Cluster) EdgeTopic(stream string, id StreamID, into Level) string {
	return fmt.Sprintf("%s.%s.%d.%s", c, stream, id, into)
}

// LateTopic holds the late records of a stream.
func (c Cluster) LateTopic(stream string) string { return fmt.Sprintf("%s.%s.late", c, stream) }

// DeadTopic holds the dead letters of a source.
func (c Cluster) DeadTopic(source string) string { return fmt.Sprintf("%s.%s.dead", c, source) }

// CommitsTopic is the topic of the markers of transactional outputs, on the brokers of the output: compacted.
func (c Cluster) CommitsTopic() string { return fmt.Sprintf("%s.commits", c) }

// TransactionalID is the id under which a task writes its results in transactions, the same in all stages; and the key of its
// marker.
func (c Cluster) TransactionalID(stream string, t Task) string {
	return fmt.Sprintf("%s.%s.%s.%d", c, stream, t.Level, t.VGroup)
}

// OffsetsGroup is the consumer group under which a stream's source offsets are published for other tools.
func (c Cluster) OffsetsGroup(stream string) string { return fmt.Sprintf("%s.%s.offsets", c, stream) }
