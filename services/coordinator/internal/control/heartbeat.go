package control

import (
	"github.com/pondage/pondage/internal/ident"
)

// Registration announces one run of a node's process; sent once at its start, repeated until answered.
type Registration struct {
	Cluster  string // cluster id; "" on the very first registration of a data directory
	Node     ident.NodeID
	Instance ident.Instance
	Address  string // base URL of the worker's API, as other nodes and clients reach it
	Version  string // of the binary
	// HighestTerm is the highest coordinator term that the node was ever told.
	HighestTerm ident.Term
}

// Registered answers a Registration.
type Registered struct {
	Cluster string // cluster id, kept by the node
	Name    ident.Cluster
	VGroups int // V
	Term    ident.Term
	Orders  []Order
}

// Heartbeat is a node's report, every second. Counts and positions are absolute per (stage, task), so that a lost or
// repeated beat and a restarted coordinator change nothing.
type Heartbeat struct {
	Cluster  string
	Node     ident.NodeID
	Instance ident.Instance
	Address  string
	// Message counts the beats of this instance from 1; an unacknowledged one is resent unchanged.
	Message uint64
	// Leaving: the node closes; its tasks have ended or end now.
	Leaving bool
	// HighestTerm is the highest coordinator term that the node was told.
	HighestTerm ident.Term
	Streams     []StreamReport // one per stream that the node has an order of
	Tasks       []TaskReport   // all tasks that the node runs or keeps
	Updates     []NodeUpdate
}

// StreamReport tells which order of a stream the node has obeyed.
type StreamReport struct {
	Stream     ident.StreamID
	Term       ident.Term
	Generation ident.Generation
	Stage      ident.Stage
}

// TaskReport is the state of one task.
type TaskReport struct {
	Stream ident.StreamID
	Stage  ident.Stage
	Task   ident.Task
	// State is a task state of DESIGN §11: uninit, scan_history, ready, checkpointing, halted, paused, stopped,
	// finished, failed, dropping.
	State string
	// Cause is set when State is failed.
	Cause *Cause
	// Watermark is ident.WatermarkNone before the first, ident.WatermarkEnd after the last.
	Watermark ident.EventMs
	Idle      bool
	// RecordsPerSecond and QueueBytes are for display.
	RecordsPerSecond float64
	QueueBytes       int64
	// Partitions are reported by source tasks.
	Partitions []PartitionReport
	// Committed is the newest complete checkpoint of the stage that the task, with its sinks, has done everything for.
	Committed ident.CheckpointID
	// Note is a standing condition that is no failure, "sink_unreachable"; "" when there is none.
	Note string
}

// PartitionReport is a source partition in the task that reads it, counted since the stage began.
type PartitionReport struct {
	Topic     string
	Partition ident.Partition
	Next      ident.NextOffset
	// End is the end offset that the broker last told; the lag is the smaller of End and the bound, less Next.
	End       ident.NextOffset
	Watermark ident.EventMs
	Idle      bool
	Done      bool // the bound is reached
	Counters  Counters
}

// Counters count the records of a source partition by what became of them (I3). JSON members as INTERFACE §3; accepted
// is the sum of the others, so it is not kept.
type Counters struct {
	Counted      int64 `json:"counted"` // in at least one window
	Filtered     int64 `json:"filtered"`
	NoWindow     int64 `json:"no_window"`
	Late         int64 `json:"late"`
	DeadLettered int64 `json:"dead_lettered"`
}

// Accepted is the number of records taken from Kafka: each is in exactly one of the counters.
func (c Counters) Accepted() int64 {
	return c.Counted + c.Filtered + c.NoWindow + c.Late + c.DeadLettered
}

// Add returns the sum of both.
func (c Counters) Add(o Counters) Counters {
	return Counters{c.Counted + o.Counted, c.Filtered + o.Filtered, c.NoWindow + o.NoWindow, c.Late + o.Late, c.DeadLettered + o.DeadLettered}
}

// NodeUpdate asks for the reset of a stream: its stage cannot go on (DESIGN §5). It acts only while the stream's stage
// is Stage.
type NodeUpdate struct {
	Stream ident.StreamID
	Stage  ident.Stage
	Task   ident.Task
	Cause  Cause
}

// HeartbeatAnswer carries what the node is to do.
type HeartbeatAnswer struct {
	// Message is the beat that is acknowledged.
	Message uint64
	// Superseded: another instance of the node is registered; this process ends its tasks and exits. Nothing else is set.
	Superseded bool
	// Unregistered: the coordinator does not know the node; it registers again.
	Unregistered bool
	Term         ident.Term
	Orders       []Order // all that concern the node
	// Orphans are streams that the node has tasks of and the metastore does not know: stop them, keep their state.
	Orphans []ident.StreamID
}
