package task

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
)

// enter implements member. A paused task stays so while it takes a checkpoint. What was wanted meanwhile is tried behind it:
// the machine keeps a pause, but refuses a resume while nothing is kept.
func (s *Source) enter(e task.Event) {
	still := e == task.GenCheckpoint && s.machine.State() == task.Paused
	s.apply(e)
	s.pausedBefore = still
	if e != task.GenCheckpoint && s.wanted != "" {
		s.apply(s.wanted)
	}
}

// flushed implements member. Nothing is held back while a flush waits for credit: the task takes no input then, and a
// flush takes everything.
func (s *Source) flushed(ctx context.Context) error {
	if !s.rows.Pending() {
		return nil
	}
	return s.flush(ctx)
}

// noEpoch says that the leader epoch of a position is not known.
const noEpoch = -1

// frozen implements member: positions are those of processing, never of what was fetched ahead of it (trap T23).
func (s *Source) frozen(m *manifest.Manifest) {
	st := s.wm.State()
	m.Source = &manifest.Source{Watermark: st.Watermark, Asleep: st.Asleep}
	for _, n := range slices.Sorted(maps.Keys(s.partitions)) {
		p, w := s.partitions[n], st.Partitions[n]
		out := manifest.Partition{
			Topic: p.Topic, TopicID: p.TopicID.String(), Partition: n, Next: p.next, Epoch: noEpoch, Highest: w.Highest, Floor: w.Floor,
			Counters: manifest.Counters(p.counters), Seen: p.repeats.state(), Replayed: p.replays.state(),
		}
		for _, table := range slices.Sorted(maps.Keys(w.Tables)) {
			out.Tables = append(out.Tables, manifest.Table{Name: table, Last: w.Tables[table]})
		}
		m.Source.Partitions = append(m.Source.Partitions, out)
	}
}

// restoredSource is the watermark's state in the manifest that the stage goes on from; nil: it has none.
func restoredSource(c *Checkpoints) *watermark.SourceState {
	if c == nil || c.Restored == nil || c.Restored.Source == nil {
		return nil
	}
	src := c.Restored.Source
	st := &watermark.SourceState{Watermark: src.Watermark, Asleep: src.Asleep, Partitions: map[ident.Partition]watermark.PartitionState{}}
	for _, p := range src.Partitions {
		w := watermark.PartitionState{Highest: p.Highest, Floor: p.Floor}
		if len(p.Tables) > 0 {
			w.Tables = make(map[string]ident.EventMs, len(p.Tables))
		}
		for _, t := range p.Tables {
			w.Tables[t.Name] = t.Last
		}
		st.Partitions[p.Partition] = w
	}
	return st
}

// restore lets a partition go on where the restored checkpoint ends. One that it does not know is new, and begins at its
// own start.
func (s *Source) restore(p *partition) error {
	c := s.cfg.Checkpoints
	if c == nil || c.Restored == nil || c.Restored.Source == nil {
		return nil
	}
	for _, r := range c.Restored.Source.Partitions {
		if r.Partition != p.Partition {
			continue
		}
		// A position is valid only together with the identity of its log (trap T24): reading from another one stops by name.
		id, err := kafka.ParseTopicID(r.TopicID)
		if err != nil {
			return fmt.Errorf("restore partition %d of %s from checkpoint %d: %w", p.Partition, p.Topic, c.Restored.Checkpoint, err)
		}
		p.TopicID, p.Start, p.next, p.end, p.counters = id, r.Next, r.Next, r.Next, Counters(r.Counters)
		p.repeats.load(r.Seen)
		p.replays.load(r.Replayed)
	}
	return nil
}

// windows implements member.
func (s *Source) windows() *keyed { return nil }

// rules implements member: nothing comes in by an edge.
func (s *Source) rules(dispatch.ReceiveEvent) error { return nil }

// reached implements member.
func (s *Source) reached(ident.Task) align.Position { return align.Position{Offset: align.NoOffset} }

// forward implements member.
func (s *Source) forward(ctx context.Context, f align.Forward) error {
	if s.edge == nil {
		return nil
	}
	if err := s.edge.forward(ctx, f, s.mono()); err != nil {
		return err
	}
	if s.edge.over != nil {
		return &over{reset: *s.edge.over}
	}
	return nil
}

// sent implements member.
func (s *Source) sent(downstream ident.Task) align.Position {
	if s.edge != nil {
		if at, ok := s.edge.triggers[downstream]; ok {
			return at
		}
	}
	return align.Position{Offset: align.NoOffset}
}

// state lists the requests remembered, for the manifest: each by its highest index, with the time of its generation.
func (r *repeats) state() []manifest.Seen {
	if r == nil {
		return nil
	}
	out := make([]manifest.Seen, 0, len(r.now)+len(r.past))
	list := func(generation map[string]*int64, ms int64) {
		for key, highest := range generation {
			value := []byte(key)
			if strings.HasSuffix(key, "/") { // else it is a key of one record
				value = strconv.AppendInt(value, *highest, 10)
			}
			out = append(out, manifest.Seen{Key: value, Ms: ms})
		}
	}
	list(r.past, r.turned-r.window)
	list(r.now, r.turned)
	slices.SortFunc(out, func(a, b manifest.Seen) int {
		return cmp.Or(cmp.Compare(a.Ms, b.Ms), slices.Compare(a.Key, b.Key))
	})
	return out
}

// load remembers what a manifest lists. The newest time is that of the present generation.
func (r *repeats) load(seen []manifest.Seen) {
	if r == nil {
		return
	}
	for _, s := range seen {
		r.turned = max(r.turned, s.Ms)
	}
	for _, s := range seen {
		key, index := ingestKey(s.Key)
		generation := r.past
		if s.Ms == r.turned {
			generation = r.now
		}
		generation[string(key)] = &index
	}
}
