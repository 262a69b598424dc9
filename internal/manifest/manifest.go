package manifest

import "github.com/pondage/pondage/internal/ident"

// Manifest is one task's part of one checkpoint.
type Manifest struct {
	Cluster    ident.Cluster      `json:"cluster"`
	Stream     ident.StreamID     `json:"stream"`
	Name       string             `json:"name"` // of the stream, for humans
	Stage      ident.Stage        `json:"stage"`
	Checkpoint ident.CheckpointID `json:"checkpoint"`
	Tx         ident.TxID         `json:"tx"`
	Task       string             `json:"task"` // ident.Task's text
	Plan       string             `json:"plan"` // the plan's fingerprint

	// Operators that the files hold state of; a restore matches by id.
	Operators []Operator `json:"operators,omitempty"`
	// Files in the order in which they are read: later ones win.
	Files []File `json:"files,omitempty"`

	Source *Source `json:"source,omitempty"` // of a source task
	Merge  *Merge  `json:"merge,omitempty"`  // of a task behind an edge
	Sinks  []Sink  `json:"sinks,omitempty"`  // that are chained into the task
}

// Operator names an operator and its accumulators (DESIGN §10).
type Operator struct {
	ID           string   `json:"id"` // kind and canonical form of keys and window
	Accumulators []string `json:"accumulators"`
}

// File is a file of the store, found by who wrote it, for which checkpoint, and its content's hash.
type File struct {
	Role  Role   `json:"role"`
	Of    string `json:"of,omitempty"` // the operator or sink
	Bytes int64  `json:"bytes"`
	Hash  Hash   `json:"sha256"`
	Task  string `json:"task"` // that wrote it, ident.Task's text
	// Checkpoint is the first one whose manifest could name the file; later ones name it as well, for as long as they
	// need it. The cleaner decides by it (package storage).
	Checkpoint ident.CheckpointID `json:"checkpoint"`
}

// Role says what a file is for.
type Role string

// The roles.
const (
	RoleBase  Role = "base"  // the whole state of an operator
	RoleDelta Role = "delta" // what changed since the file before
	RoleSink  Role = "sink"  // results that a sink has not shown yet
)

// Source is the state of a source task.
type Source struct {
	Watermark  ident.EventMs `json:"watermark"` // the highest that destinations were told
	Asleep     bool          `json:"asleep"`    // destinations were told that the task is idle
	Partitions []Partition   `json:"partitions,omitempty"`
}

// Partition is a source partition: where to read on, and what was decided about its rows.
type Partition struct {
	Topic     string           `json:"topic"`
	TopicID   string           `json:"topic_id"`
	Partition ident.Partition  `json:"partition"`
	Next      ident.NextOffset `json:"next"`
	Epoch     int32            `json:"epoch"`   // leader epoch of the record before Next; -1: not known
	Highest   ident.EventMs    `json:"highest"` // event time
	Floor     ident.EventMs    `json:"floor"`
	Counters  Counters         `json:"counters"`
	// Tables are the clocks of late_by: table.
	Tables []Table `json:"tables,omitempty"`
	// Seen are the ingest keys whose repeats are to be dropped.
	Seen []Seen `json:"seen,omitempty"`
	// Replayed are the offsets of dead letters whose replay was taken, in the order in which they were.
	Replayed []ident.LastOffset `json:"replayed,omitempty"`
}

// Counters say what became of a partition's records (I3).
type Counters struct {
	Counted      int64 `json:"counted"`
	Filtered     int64 `json:"filtered"`
	NoWindow     int64 `json:"no_window"`
	Late         int64 `json:"late"`
	DeadLettered int64 `json:"dead_lettered"`
}

// Table is the clock of a table.
type Table struct {
	Name string        `json:"name"`
	Last ident.EventMs `json:"last"` // event time
}

// Seen is an ingest key, by what a record carries, and when it was seen by the record's Kafka time.
type Seen struct {
	Key []byte `json:"key"` // any bytes: who writes to the topic himself may have put them there
	Ms  int64  `json:"ms"`
}

// Merge is the state of the watermark of a task behind an edge.
type Merge struct {
	Watermark ident.EventMs `json:"watermark"`
	SilenceMs int64         `json:"silence_ms"` // counts on after a restore
	Upstreams []Upstream    `json:"upstreams,omitempty"`
}

// Upstream is the watermark that an upstream was last heard with.
type Upstream struct {
	Task      string        `json:"task"`
	Watermark ident.EventMs `json:"watermark"`
}

// Sink is what a sink has to show, and has shown, at the checkpoint.
type Sink struct {
	Kind string `json:"kind"` // "postgres", "kafka", "late", "dead"
	// Marker is the last checkpoint that the sink has seen committed (sink_went_back).
	Marker ident.CheckpointID `json:"marker"`
	// Intervals are the results between triggers whose commit is not known yet, in order; also of failed checkpoints.
	Intervals []Interval `json:"intervals,omitempty"`
}

// Interval is results of a transactional sink between two triggers, or a part of them: many results are several files, in the
// order in which they were made. Its file has RoleSink.
type Interval struct {
	After ident.CheckpointID `json:"after"` // the trigger before it
	Hash  Hash               `json:"sha256"`
	Rows  int64              `json:"rows"`
}
