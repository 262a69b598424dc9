package watermark

import (
	"maps"

	"github.com/pondage/pondage/internal/ident"
)

// SourceState is what a checkpoint keeps of a Source.
type SourceState struct {
	Watermark  ident.EventMs // the highest that destinations were told
	Asleep     bool          // destinations were told that the task is idle, and have not answered since
	Partitions map[ident.Partition]PartitionState
}

// PartitionState is what a checkpoint keeps of a partition. Its position is the manifest's own.
type PartitionState struct {
	Highest ident.EventMs // event time; WatermarkNone: no row yet
	Floor   ident.EventMs // never falls; WatermarkNone: none
	Tables  map[string]ident.EventMs
}

// State returns a copy of what a checkpoint keeps.
func (s *Source) State() SourceState {
	st := SourceState{Watermark: s.told.watermark, Asleep: s.moved, Partitions: map[ident.Partition]PartitionState{}}
	maps.Copy(st.Partitions, s.restored) // also of partitions not added yet
	for _, p := range s.order {
		st.Partitions[p.number] = p.state()
	}
	return st
}

func (t *Tracker) state() PartitionState {
	st := PartitionState{Highest: ident.EventMs(t.highest), Floor: ident.EventMs(t.floor)}
	if t.tableAllowed >= 0 {
		st.Tables = make(map[string]ident.EventMs, len(t.tables.index))
		for table, i := range t.tables.index {
			st.Tables[table] = ident.EventMs(t.tables.clocks[i])
		}
	}
	return st
}

// restore takes a state in: watermark and idleness are restored, not trusted. Each partition has to speak in this stage.
func (s *Source) restore(st *SourceState) {
	s.told.watermark, s.moved = st.Watermark, st.Asleep
	maps.Copy(s.restored, st.Partitions)
}

func (t *Tracker) load(st PartitionState) {
	t.highest, t.limit = int64(st.Highest), minus(int64(st.Highest), t.delay)
	t.raiseFloor(int64(st.Floor))
	for table, last := range st.Tables {
		t.tables.add([]byte(table), int64(last), int64(ident.WatermarkNone))
	}
}

// MergeState is what a checkpoint keeps of a Merge.
type MergeState struct {
	Watermark ident.EventMs
	SilenceMs int64 // since the last rows or active word of any upstream; counts on after a restore
	Upstreams map[ident.Task]ident.EventMs
}

// State returns a copy of what a checkpoint keeps.
func (m *Merge) State(now ident.MonoMs) MergeState {
	st := MergeState{Watermark: m.told.watermark, SilenceMs: m.restored, Upstreams: make(map[ident.Task]ident.EventMs, len(m.inputs))}
	if m.hasHeard {
		st.SilenceMs = int64(now - m.lastHeard)
	}
	for i := range m.inputs {
		st.Upstreams[m.inputs[i].task] = m.inputs[i].watermark
	}
	return st
}
