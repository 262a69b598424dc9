package control

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// orders lists what the node has to know: the streams that have, or had in the placed stage, tasks on it. In whatever
// instance: a node that was started again still serves what its streams have written.
func (s *Service) orders(p *picture, node ident.NodeID) []Order {
	var out []Order
	for _, r := range p.rows {
		if slices.ContainsFunc(r.tasks, func(t store.Task) bool { return t.Place.Node == node }) {
			out = append(out, s.order(p, r))
		}
	}
	return out
}

func (s *Service) order(p *picture, r row) Order {
	return Order{
		Stream: r.ID, Name: r.Name, Term: p.term, Generation: r.Generation, Stage: r.Stage, Wanted: wantedOf(r),
		Source: r.SourceSpec, Spec: r.Spec, Partitions: r.Partitions,
		Tasks: placedTasks(p, r), Start: startRecord(r, s.board.reports(r)),
		Restore: restore(r), Complete: r.Complete, Settled: r.Settled, Retained: p.retained[r.ID],
	}
}

func restore(r row) *Restore {
	if r.Cuts.Start == 0 {
		return nil
	}
	out := Restore{Checkpoint: r.Cuts.Start}
	for _, t := range r.restored {
		out.Tasks = append(out.Tasks, RestoredTask{Task: t.Task, Node: t.Node, Manifest: t.Manifest})
	}
	return &out
}

// wantedOf says what the tasks are to be; what a stream has come to goes before what a user wants of it.
// A pause waits for a running checkpoint (DESIGN §11): a source that has said it takes its part must not stand still before
// its barrier. It ends in any case, by its deadline.
func wantedOf(r row) OrderWanted {
	switch r.State {
	case task.StreamDropping:
		return OrderDropped
	case task.StreamStopping, task.StreamStopped, task.StreamFinished, task.StreamFailed:
		return OrderStopped
	case task.StreamPausing:
		if r.running != nil {
			return OrderRunning
		}
		return OrderPaused
	case task.StreamPaused:
		return OrderPaused
	case task.StreamCreating, task.StreamRecovering, task.StreamRunning:
	}
	if r.Wanted == task.WantPaused {
		return OrderPaused
	}
	return OrderRunning
}

func placedTasks(p *picture, r row) []PlacedTask {
	out := make([]PlacedTask, len(r.tasks))
	for i, t := range r.tasks {
		out[i] = PlacedTask{Task: t.Task, Node: t.Place.Node, Instance: t.Place.Instance, Address: p.nodes[t.Place.Node].Address}
	}
	return out
}

func startRecord(r row, reports map[ident.Task]TaskReport) StartRecord {
	rec := StartRecord{Complete: r.Ready}
	if r.StageBegun != nil {
		rec.Begun = *r.StageBegun
	}
	for _, t := range r.tasks {
		report, ok := reports[t.Task]
		switch {
		case ok && report.Cause != nil:
			rec.Failed = append(rec.Failed, TaskFailure{Task: t.Task, Cause: *report.Cause})
		case !r.Ready && (!ok || !decide.Ready(task.State(report.State))):
			rec.Missing = append(rec.Missing, t.Task)
		}
	}
	return rec
}
