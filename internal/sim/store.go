package sim

import (
	"errors"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/watermark"
)

// snapshot is what the store keeps of a task's part of a checkpoint.
type snapshot struct {
	stage ident.Stage
	// Of a source task.
	next     ident.NextOffset
	source   *watermark.SourceState
	counters pipeline.Counters
	// Of a receiving task: its state files, the oldest first, and results that are not known to be committed.
	merge     *watermark.MergeState
	chain     [][]byte
	intervals []interval
	// passed is all that has gone through the channels to or from the task before the barrier.
	passed map[ident.Task]passed
}

// passed is what has gone through a channel: how many blocks with rows, and the sum of their hashes.
type passed struct {
	blocks int
	sum    uint64
}

func (p passed) with(hash uint64) passed { return passed{p.blocks + 1, p.sum + hash} }

// store is the checkpoint store.
type store struct {
	w     *world
	fence ident.Stage
	parts map[ident.CheckpointID]map[ident.Task]*snapshot
}

var errFenced = errors.New("a newer stage has come")

// raise fences older stages.
func (s *store) raise(stage ident.Stage) { s.fence = max(s.fence, stage) }

// keep commits a manifest.
func (s *store) keep(id ident.CheckpointID, t ident.Task, p snapshot) error {
	if p.stage < s.fence {
		s.w.reach(ManifestFenced)
		return errFenced
	}
	if s.parts[id] == nil {
		s.parts[id] = map[ident.Task]*snapshot{}
	}
	s.parts[id][t] = &p
	return nil
}

// load is what the store has of a checkpoint; nothing of 0.
func (s *store) load(id ident.CheckpointID) map[ident.Task]*snapshot {
	if !s.w.meta.ever[id] || id > 0 && !s.whole(id) {
		s.w.violated("I4", "checkpoint %d is restored and was never complete", id)
	}
	return s.parts[id]
}

// whole tells whether every task has its part there.
func (s *store) whole(id ident.CheckpointID) bool { return len(s.parts[id]) == len(tasks()) }

// check holds a complete checkpoint against what a cut is: every task has its part, all of one stage, and what a
// receiving task has taken of an upstream is exactly what that one has sent before its barrier.
func (s *store) check(id ident.CheckpointID) {
	parts := s.parts[id]
	if !s.whole(id) {
		s.w.violated("I4", "checkpoint %d is complete with %d of %d parts", id, len(parts), len(tasks()))
		return
	}
	for _, from := range peers(ident.LevelSource) {
		for _, to := range peers(ident.LevelAgg) {
			if sent, taken := parts[from.Task].passed[to.Task], parts[to.Task].passed[from.Task]; sent != taken {
				s.w.violated("I5", "checkpoint %d: %s has sent %+v, %s has taken %+v", id, from.Task, sent, to.Task, taken)
			}
		}
	}
}

// published are the source offsets that other tools see.
type published struct {
	w       *world
	stage   ident.Stage // the newest that has opened it
	offsets [partitions]ident.NextOffset
}

// open fences who published before.
func (p *published) open(stage ident.Stage) { p.stage = max(p.stage, stage) }

// put publishes a position, and refuses a stage that is over.
func (p *published) put(stage ident.Stage, at ident.Partition, next ident.NextOffset) {
	if stage < p.stage {
		p.w.reach(OffsetFenced)
		return
	}
	if next < p.offsets[at] {
		p.w.violated("I6", "partition %d: the published offset goes back from %d to %d", at, p.offsets[at], next)
	}
	newest := p.w.store.parts[p.w.meta.complete][ident.Task{Level: ident.LevelSource, VGroup: ident.VGroup(at)}]
	if newest == nil || next > newest.next {
		p.w.violated("I6", "partition %d: the published offset %d is above the newest complete checkpoint %d", at, next, p.w.meta.complete)
	}
	p.offsets[at] = next
}
