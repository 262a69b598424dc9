package store

import (
	"encoding/json"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// Cluster is the cluster's one row.
type Cluster struct {
	ID      string // random, given once: service calls of another cluster are refused by it
	Name    ident.Cluster
	VGroups int // V
}

// Source is a row of sources.
type Source struct {
	ID      ident.SourceID
	Name    string
	Version int64 // the ETag
	Spec    json.RawMessage
	Created time.Time // label only: no decision compares it
	Updated time.Time
}

// The words of the cores that are in rows.
type (
	StreamState = task.StreamState
	Wanted      = task.Wanted
	Cause       = decide.Cause
)

// SourcePartition is a partition that a stream reads, with its bounds resolved to offsets when the stream was created.
type SourcePartition struct {
	Topic     string           `json:"topic"`
	TopicID   string           `json:"topic_id"` // Kafka's id: a topic made again under the name is another one
	Partition ident.Partition  `json:"partition"`
	Start     ident.NextOffset `json:"start"`
	// Until is the offset at which the partition is done; nil: it is read for ever.
	Until *ident.NextOffset `json:"until,omitempty"`
}

// TargetKind is a kind of sink that two streams cannot share.
type TargetKind string

// The kinds of targets.
const (
	TargetPostgres TargetKind = "postgres" // Name is the table
	TargetKafka    TargetKind = "kafka"    // Name is the topic
)

// Target is a table or topic that a stream writes; no two streams have the same.
type Target struct {
	Kind TargetKind `json:"kind"`
	Name string     `json:"name"`
}

// Stream is a row of streams.
type Stream struct {
	ID      ident.StreamID
	Name    string
	Version int64 // the ETag; raised by every write
	Source  ident.SourceID
	// SourceSpec is the source as it was when the stream was created; changing the source does not change the stream.
	SourceSpec json.RawMessage
	Spec       json.RawMessage
	Partitions []SourcePartition
	Targets    []Target

	State      StreamState
	Wanted     Wanted
	Generation ident.Generation // raised by every accepted change
	Stage      ident.Stage      // 0 until the first placement
	// StageDue: the stage is over (or there was none), and the next one is not placed yet.
	StageDue bool
	// StageBegun is when the stage was placed: a label. nil at stage 0.
	StageBegun *time.Time
	// Ready: every task of the stage has reported ready once; its deploy is complete.
	Ready bool
	// Restarts counts resets that the stream itself caused, since a user started it, a checkpoint was complete or a stage
	// ran well for long.
	Restarts int
	Cuts            // its checkpoints
	Cause    *Cause // why it failed, or why it was last reset
	// Progress is the last of a stage that has ended; nil before. The form is package control's.
	Progress json.RawMessage

	Created time.Time
	Updated time.Time
}

// Task is a row of tasks: the placement of one task in a stage. (stream, stage, task) is placed once, ever.
type Task struct {
	Task  ident.Task
	Place ident.Place
}

// NodeState is how the coordinator sees a node.
type NodeState string

// The node states.
const (
	NodeAlive   NodeState = "alive"
	NodeSuspect NodeState = "suspect" // three beats missed
	NodeLeft    NodeState = "left"    // said that it closes
)

// Node is a row of nodes with its newest instance.
type Node struct {
	ID         ident.NodeID
	Instance   ident.Instance
	Address    string // base URL of the worker's API
	Version    string // of the binary
	State      NodeState
	Registered time.Time // of this instance
}

// VGroup is a row of vgroups.
type VGroup struct {
	VGroup ident.VGroup
	Owner  ident.NodeID // "": not assigned yet
}

// Severity of an event.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Alert   Severity = "alert" // somebody should act
)

// Event is a row of events: something happened that an operator may want to know.
type Event struct {
	ID       int64 // rising
	At       time.Time
	Severity Severity
	Code     string
	Stream   string // name, or ""
	Node     ident.NodeID
	Message  string
}

// EventFilter selects events, newest first.
type EventFilter struct {
	Stream string // "": all
	Before int64  // ids below; 0: from the newest
	Limit  int
}

// AnswerKey identifies a request that may be repeated: who asked, and the Idempotency-Key.
type AnswerKey struct {
	Scope string // principal and operation
	Key   string
}

// Answer is the remembered answer to a request.
type Answer struct {
	Request [32]byte // SHA-256 of the request; another one under the same key is refused
	Body    json.RawMessage
}

// Token is an API token; only its hash is kept.
type Token struct {
	Name    string
	Hash    [32]byte // SHA-256 of the token's text
	Role    string   // viewer, editor or admin
	Created time.Time
}
