package control

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// Source is a source as users see it.
type Source struct {
	Name    string
	Version int64 // the ETag
	Spec    json.RawMessage
	Created time.Time
	Updated time.Time
	Streams []string // streams that use it; filled by GetSource only
}

// Stream is a stream as users see it.
type Stream struct {
	ID         ident.StreamID
	Name       string
	Version    int64 // the ETag
	Source     json.RawMessage
	Spec       json.RawMessage
	State      StreamState
	Wanted     Wanted
	Generation ident.Generation
	Stage      ident.Stage
	Restarts   int
	Cause      *Cause
	// Waiting says what the stream waits for, in words; "" when for nothing.
	Waiting    string
	Start      StartRecord
	Partitions []SourcePartition
	Targets    []Target
	Progress   Progress
	// Checkpoints is where the stream stands with its checkpoints.
	Checkpoints store.Cuts
	Created     time.Time
	Updated     time.Time
}

// Progress is how far a stream is: from the last reports, or what was stored when its stage ended.
type Progress struct {
	Counters Counters `json:"counters"`
	// Partitions are the same per source partition, by topic and partition.
	Partitions []PartitionProgress `json:"partitions"`
	// Watermark of the last level; nil before there is one or when the input has ended.
	Watermark *ident.EventMs `json:"watermark"`
	// Ended: every window is closed.
	Ended bool `json:"ended"`
	// Lag is the number of records between the positions and the ends or bounds.
	Lag int64 `json:"lag"`
	// RecordsPerSecond is the sum over the source tasks.
	RecordsPerSecond float64 `json:"records_per_second"`
}

// PartitionProgress is the progress of one source partition.
type PartitionProgress struct {
	Topic     string           `json:"topic"`
	Partition ident.Partition  `json:"partition"`
	Next      ident.NextOffset `json:"next"`
	Lag       int64            `json:"lag"`
	Watermark *ident.EventMs   `json:"watermark"`
	Idle      bool             `json:"idle"`
	Done      bool             `json:"done"`
	Counters  Counters         `json:"counters"`
}

// TaskStatus is a placed task with its last report; Report is nil while there is none of this stage.
type TaskStatus struct {
	PlacedTask
	Report *TaskReport
}

// Node is a node as users see it.
type Node struct {
	ID         ident.NodeID
	Instance   ident.Instance
	Address    string
	Version    string
	State      string // alive, suspect or left
	Registered time.Time
	// SilenceMs is the time since the last beat that this coordinator heard; -1 when it has heard none.
	SilenceMs int64
	VGroups   []ident.VGroup
	Tasks     int // reported in the last beat
}

// VGroup is a vgroup as users see it.
type VGroup struct {
	VGroup ident.VGroup
	Owner  ident.NodeID // "" while unassigned
}

// ClusterInfo is what is known of the cluster as a whole.
type ClusterInfo struct {
	ID      string
	Name    ident.Cluster
	VGroups int
	Leader  Leader
}

// Token is an API token without its text.
type Token struct {
	Name    string
	Role    Role
	Created time.Time
}

// Event is something that happened.
type Event = store.Event

// counted is a number of things in a message: "1 partition", "2 partitions". The word is singular and takes an s.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
