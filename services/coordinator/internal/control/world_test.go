package control

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
)

// vgroups of the test cluster.
const vgroups = 4

// doc is the test's specifications: as much as control needs of one.
type doc struct {
	Name     string `json:"name"`
	Source   string `json:"source,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Target   string `json:"target,omitempty"`
	Bounded  bool   `json:"bounded,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	// Transactional: an output is.
	Transactional bool `json:"transactional,omitempty"`
}

func (d doc) bytes() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

// fakePlanner reads doc.
type fakePlanner struct{}

func parse(b []byte) (doc, error) {
	var d doc
	if err := json.Unmarshal(b, &d); err != nil || d.Name == "" {
		return d, invalid.New("malformed_document", "", "no document")
	}
	return d, nil
}

func (fakePlanner) Source(b []byte) (SourcePlan, error) {
	d, err := parse(b)
	return SourcePlan{Name: d.Name, Doc: d.bytes(), Topic: TopicRef{Topic: d.Topic}}, err
}

func (fakePlanner) Stream(b []byte) (StreamHead, error) {
	d, err := parse(b)
	return StreamHead{Name: d.Name, Source: d.Source, Doc: d.bytes()}, err
}

func (fakePlanner) Plan(source, stream []byte) (StreamPlan, error) {
	src, _ := parse(source)
	st, _ := parse(stream)
	p := StreamPlan{Topic: TopicRef{Topic: src.Topic}, Start: Position{Kind: PositionEarliest}}
	if st.Bounded {
		p.Until = &Position{Kind: PositionLatest}
	}
	if st.Target != "" {
		p.Targets = []Target{{Kind: TargetPostgres, Name: st.Target}}
	}
	return p, nil
}

func (fakePlanner) Layout(_, stream []byte, _ ident.StreamID, partitions []ident.Partition) (Layout, error) {
	st, err := parse(stream)
	l := Layout{Edges: []ident.Level{ident.LevelAgg}, MaxRestarts: 10, StartTimeout: time.Minute, Transactional: st.Transactional}
	l.Checkpoints = checkpoint.Settings{IntervalMs: 10_000, TimeoutMs: 60_000, Retain: 2, MaxFailed: 3}
	if st.Restarts > 0 {
		l.MaxRestarts = st.Restarts
	}
	for _, p := range partitions {
		l.Tasks = append(l.Tasks, ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(p) % vgroups})
	}
	for vg := range ident.VGroup(vgroups) {
		l.Tasks = append(l.Tasks, ident.Task{Level: ident.LevelAgg, VGroup: vg})
	}
	return l, err
}

// world is Kafka and the sinks.
type world struct {
	mu      sync.Mutex
	topics  map[string]bool // made for streams
	missing bool            // the source topic is not there
	hang    string          // Ensure for this late topic never answers
	refuse  *Error          // of Ensure
	asked   int             // Resolve calls
	more    int             // partitions beyond the first two
	during  func()          // runs in Resolve
	targets error           // of Check
	leaves  error           // of Leave and Forget
	left    []ident.StreamID
}

func (w *world) Resolve(_ context.Context, topic TopicRef, _ Position, until *Position) ([]SourcePartition, error) {
	w.mu.Lock()
	during := w.during
	w.during = nil
	w.mu.Unlock()
	if during != nil {
		during()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.missing {
		return nil, errorf(CodeTopicUnknown, "topic %s is not there", topic.Topic)
	}
	var parts []SourcePartition
	for p := range ident.Partition(2 + w.more) {
		parts = append(parts, SourcePartition{Topic: topic.Topic, TopicID: "id", Partition: p, Start: 7})
	}
	if until != nil {
		for i := range parts {
			bound := ident.NextOffset(100)
			parts[i].Until = &bound
		}
	}
	return parts, nil
}

func (w *world) Leave(_ context.Context, _ ident.Cluster, id ident.StreamID, _, _ []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(w.left, id)
	return w.leaves
}

func (w *world) Check(context.Context, []byte, []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.targets
}

func (w *world) Ensure(ctx context.Context, t TopicSet) error {
	w.mu.Lock()
	hangs := w.hang == t.Late
	refuse := w.refuse
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if refuse != nil {
		return refuse
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range append([]string{t.Late}, t.Edges...) {
		w.topics[name] = true
	}
	return nil
}

func (w *world) Delete(_ context.Context, t TopicSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range append([]string{t.Late}, t.Edges...) {
		delete(w.topics, name)
	}
	return nil
}

func (w *world) Forget(context.Context, TopicSet) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaves
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.topics)
}
