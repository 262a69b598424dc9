package ident

import (
	"fmt"
	"strconv"
	"strings"
)

// StreamID is issued by the metastore when a stream is created. A dropped stream's id is never used again, also not
// when its name is.
type StreamID int64

// SourceID is issued by the metastore when a source is created.
type SourceID int64

// Stage is the incarnation of a stream, rising by one with every reset; the first is 1. It is the fence: whatever
// carries a lower one is dropped everywhere (DESIGN §1).
type Stage int64

// MsgID numbers the messages from one upstream task to one destination task within a stage: 1, 2, 3, … without holes.
type MsgID uint64

// Term is the coordinator's lease term, issued by the metastore. Raft terms are a type of their own.
type Term int64

// Generation numbers the accepted changes of one stream's wanted state; a worker ignores a lower one.
type Generation int64

// CheckpointID numbers the checkpoints of one stream; it rises across failures. 0 means "before the first one".
type CheckpointID int64

// TxID tells two attempts at one checkpoint id apart.
type TxID int64

// EventMs is an event time in milliseconds since the Unix epoch, UTC; negative before 1970.
type EventMs int64

// MonoMs is a reading of a process's monotonic clock in milliseconds. Only differences within one process mean
// anything (DESIGN §11: no time is compared with a time from another machine).
type MonoMs int64

// NextOffset is the offset of the next record to read from a Kafka partition: what a fetch asks for, a manifest
// holds and a consumer group commits.
type NextOffset int64

// LastOffset is the offset of the last record processed.
type LastOffset int64

// Next returns the position after o. It is the only conversion between the two.
func (o LastOffset) Next() NextOffset { return NextOffset(o) + 1 }

// Partition is the number of a Kafka partition.
type Partition int32

// VGroup is the index of a virtual group, 0 … V−1.
type VGroup uint16

// NodeID names a node for as long as its data directory lives.
type NodeID string

// Instance is one run of a node's process: the counter is kept in the locked data directory, the random part tells
// two copies of one directory apart (DESIGN §1).
type Instance struct {
	Counter uint64
	Random  uint32
}

// String returns the text form, "12-0a1b2c3d".
func (i Instance) String() string { return fmt.Sprintf("%d-%08x", i.Counter, i.Random) }

// ParseInstance is the inverse of Instance.String.
func ParseInstance(s string) (Instance, error) {
	counter, random, ok := strings.Cut(s, "-")
	c, errC := strconv.ParseUint(counter, 10, 64)
	r, errR := strconv.ParseUint(random, 16, 32)
	if !ok || errC != nil || errR != nil || len(random) != 8 {
		return Instance{}, fmt.Errorf("instance %q: want <counter>-<8 hex digits>", s)
	}
	return Instance{Counter: c, Random: uint32(r)}, nil
}

// Level says what a task does in its stream.
type Level uint8

// The levels of DESIGN §1. Their numbers are on the wire: never reuse one.
const (
	LevelSource Level = 1 + iota
	LevelAgg
	LevelSink
	LevelMerge
	LevelJoin
)

var levelNames = map[Level]string{LevelSource: "source", LevelAgg: "agg", LevelSink: "sink", LevelMerge: "merge", LevelJoin: "join"}

// String returns the level's name as the API shows it.
func (l Level) String() string {
	if s, ok := levelNames[l]; ok {
		return s
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// ParseLevel is the inverse of Level.String.
func ParseLevel(s string) (Level, error) {
	for l, name := range levelNames {
		if name == s {
			return l, nil
		}
	}
	return 0, fmt.Errorf("unknown task level %q", s)
}

// Task names a task within its stream. Its text form is "agg-3".
type Task struct {
	Level  Level
	VGroup VGroup
}

// String returns the text form.
func (t Task) String() string { return t.Level.String() + "-" + strconv.Itoa(int(t.VGroup)) }

// ParseTask is the inverse of Task.String.
func ParseTask(s string) (Task, error) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return Task{}, fmt.Errorf("task %q: want <level>-<vgroup>", s)
	}
	level, err := ParseLevel(s[:i])
	if err != nil {
		return Task{}, fmt.Errorf("task %q: %w", s, err)
	}
	vg, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return Task{}, fmt.Errorf("task %q: %w", s, err)
	}
	return Task{Level: level, VGroup: VGroup(vg)}, nil
}

// Compare orders tasks by level, then vgroup.
func (t Task) Compare(o Task) int {
	if t.Level != o.Level {
		return int(t.Level) - int(o.Level)
	}
	return int(t.VGroup) - int(o.VGroup)
}

// Place is where a task runs: a node in one of its instances. Part of a stage's placement.
type Place struct {
	Node     NodeID
	Instance Instance
}

// String returns "node/instance", the form of the block headers un and dn.
func (p Place) String() string { return string(p.Node) + "/" + p.Instance.String() }

// ParsePlace is the inverse of Place.String.
func ParsePlace(s string) (Place, error) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return Place{}, fmt.Errorf("place %q: want <node>/<instance>", s)
	}
	inst, err := ParseInstance(s[i+1:])
	if err != nil {
		return Place{}, fmt.Errorf("place %q: %w", s, err)
	}
	return Place{Node: NodeID(s[:i]), Instance: inst}, nil
}

// The watermarks that are no times.
const (
	// WatermarkNone is the watermark of a channel that has not spoken: it holds the minimum (DESIGN §6).
	WatermarkNone EventMs = -1 << 63
	// WatermarkEnd is the watermark of a finished input: all windows close.
	WatermarkEnd EventMs = 1<<63 - 1
)
