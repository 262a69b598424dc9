package control

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
)

// Planner knows what documents mean. It does no I/O; faults of a document are *invalid.Error.
type Planner interface {
	// Source checks a source document, JSON or YAML.
	Source(doc []byte) (SourcePlan, error)
	// Stream checks a stream document without its source: its form, and the name of the source.
	Stream(doc []byte) (StreamHead, error)
	// Plan checks a stream against its source; both documents are canonical.
	Plan(source, stream []byte) (StreamPlan, error)
	// Layout lists the tasks and the edges of a stream that reads the given partitions.
	Layout(source, stream []byte, id ident.StreamID, partitions []ident.Partition) (Layout, error)
}

// SourcePlan is a checked source.
type SourcePlan struct {
	Name  string
	Doc   json.RawMessage // canonical
	Topic TopicRef
}

// StreamHead is a stream document of good form.
type StreamHead struct {
	Name   string
	Source string          // name of the source
	Doc    json.RawMessage // canonical
}

// StreamPlan is a stream checked against its source.
type StreamPlan struct {
	Topic   TopicRef
	Start   Position
	Until   *Position // nil: reads for ever
	Targets []Target
}

// Layout is the tasks and edges of a stream.
type Layout struct {
	Tasks []ident.Task
	Edges []ident.Level // the levels with an edge into them
	// MaxRestarts and StartTimeout are the stream's bounds of starts and restarts.
	MaxRestarts  int
	StartTimeout time.Duration
	// Checkpoints are the stream's bounds of checkpoints.
	Checkpoints checkpoint.Settings
	// Transactional: an output shows whole checkpoints, and does not take back what it has shown.
	Transactional bool
}

// TopicRef is an external topic.
type TopicRef struct {
	Topic   string
	Brokers []string // empty: the cluster's
	// Source is the canonical source document, for who needs more of the connection (TLS, SASL).
	Source json.RawMessage
}

// PositionKind is a way to name a place in a topic.
type PositionKind string

// The kinds of positions (INTERFACE §1).
const (
	PositionEarliest PositionKind = "earliest"
	PositionLatest   PositionKind = "latest" // as an end: the last stable offset
	PositionTime     PositionKind = "time"
	PositionOffsets  PositionKind = "offsets"
)

// Position is a place in a topic before it is resolved.
type Position struct {
	Kind    PositionKind
	Time    ident.EventMs                        // PositionTime
	Offsets map[ident.Partition]ident.NextOffset // PositionOffsets
}

// Kafka resolves positions.
type Kafka interface {
	// Resolve turns positions into offsets of every partition of the topic, with the topic's id, in one look. Errors:
	// *Error with CodeTopicUnknown, CodeKafkaUnreachable, or others of the Kafka package's codes; *invalid.Error for
	// offsets that the topic does not have.
	Resolve(ctx context.Context, topic TopicRef, start Position, until *Position) ([]SourcePartition, error)
}

// Sinks are the databases of Postgres outputs.
type Sinks interface {
	// Check tells whether the targets can be reached and have, if they exist, the stream's shape. Errors: *Error with
	// CodeTargetMismatch or CodeSinkUnreachable.
	Check(ctx context.Context, source, stream []byte) error
	// Leave removes what a dropped stream has left in the database beside its results. An error says what stays there; it
	// keeps no stream from being dropped.
	Leave(ctx context.Context, cluster ident.Cluster, id ident.StreamID, source, stream []byte) error
}

// TopicSet is the topics that belong to a stream.
type TopicSet struct {
	Edges  []string // V partitions each; deleted with the stream
	Late   string   // deleted with the stream
	Dead   string   // the source's; stays
	Output string   // the Kafka target; stays; "" when there is none
	// Commits is the topic of the markers of a transactional Kafka target, beside it; stays. Transactions are the ids under
	// which the tasks of the stream write there.
	Commits      string
	Transactions []string
	// Group is the consumer group of the stream's source positions; deleted with the stream.
	Group string
	// Stream is the canonical stream document, for who needs the connection of Output; Source that of its source, for who
	// needs the one of Group.
	Stream, Source json.RawMessage
}

// Edges makes, checks and deletes topics. All calls may be repeated.
type Edges interface {
	// Ensure makes what is missing and checks the settings of what is there. Errors: *Error with CodeTopicMismatch (the
	// difference in the message) or CodeKafkaUnreachable.
	Ensure(ctx context.Context, t TopicSet) error
	// Delete deletes the edges, the late topic and, where its brokers answer, the group; one that is not there is fine.
	Delete(ctx context.Context, t TopicSet) error
	// Forget ends what tasks of a dropped stream that died have left open in a transactional target, and takes back the
	// markers. An error says what stays there; it keeps no stream from being dropped.
	Forget(ctx context.Context, t TopicSet) error
}

// Nodes calls workers.
type Nodes interface {
	// Push brings orders to a node without waiting for its beat. A failed push is no fault: the next beat brings them.
	Push(ctx context.Context, address string, p Push) error
	// Request asks source tasks of a node for their parts of a checkpoint, and returns what they have answered. Who has not is
	// asked again.
	Request(ctx context.Context, address string, r CheckpointRequest) ([]CheckpointAnswer, error)
}

// CheckpointRequest asks source tasks of a node for their parts of a checkpoint.
type CheckpointRequest struct {
	Term    ident.Term
	Place   ident.Place // an instance that is not the one does not take it
	Attempt Attempt
	Left    ident.MonoMs // time left, counted from the arrival
	Tasks   []ident.Task
}

// CheckpointAnswer is what a source task says to a request.
type CheckpointAnswer struct {
	Task    ident.Task
	Refused *Cause // nil: it takes its part
}

// Push is the body of a pushed order list.
type Push struct {
	Cluster  string // cluster id
	Node     ident.NodeID
	Instance ident.Instance
	Term     ident.Term
	Orders   []Order
}

// Clock is the time as control sees it.
type Clock interface {
	Now() time.Time     // for labels only
	Mono() ident.MonoMs // for durations
}
