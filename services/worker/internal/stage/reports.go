package stage

import (
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	state "github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Reports returns the state of each of the run's tasks for the heartbeat.
func (r *Run) Reports() []common.TaskReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]common.TaskReport, 0, len(r.mine))
	for _, id := range r.mine {
		rep := task.Report{Task: id, Stage: r.stage, State: state.Uninit, Progress: task.Progress{Watermark: ident.WatermarkNone}}
		if t := r.tasks[id]; t != nil {
			rep = t.Report()
		} else if r.cause != nil {
			rep.State, rep.Cause = state.Failed, r.cause
		}
		out = append(out, r.report(rep))
	}
	return out
}

func (r *Run) report(t task.Report) common.TaskReport {
	out := common.TaskReport{
		StreamID: common.Int64(r.id), Stage: common.Int64(r.stage), Task: t.Task.String(), State: string(t.State),
		Watermark: common.Int64(t.Progress.Watermark), Idle: t.Progress.Idle, RecordsPerSecond: t.Progress.RecordsPerSecond,
		Partitions: []common.PartitionReport{}, Note: r.note,
	}
	if t.Cause != nil {
		out.Cause = &common.Cause{Code: t.Cause.Code, Message: t.Cause.Message}
	}
	for _, s := range t.Progress.Sinks {
		if s.Problem != "" {
			out.Note = noteSinkUnreachable + ": " + s.Kind + ": " + s.Problem
		}
	}
	for _, p := range t.Progress.Partitions {
		out.Partitions = append(out.Partitions, common.PartitionReport{
			Topic: p.Topic, Partition: int32(p.Partition), Next: common.Int64(p.Next), End: common.Int64(p.End),
			Watermark: common.Int64(p.Watermark), Idle: p.Idle, Done: p.Done,
			Counters: common.ReportedCounters{
				Counted: common.Int64(p.Counters.Counted), Filtered: common.Int64(p.Counters.Filtered), NoWindow: common.Int64(p.Counters.NoWindow),
				Late: common.Int64(p.Counters.Late), DeadLettered: common.Int64(p.Counters.DeadLettered),
			},
		})
	}
	return out
}

// noteSinkUnreachable is the standing condition of a task whose sink is retried (DESIGN §9): no failed start.
const noteSinkUnreachable = "sink_unreachable"

// Updates returns what keeps the stage from going on; until it ends, in every beat.
func (r *Run) Updates() []common.NodeUpdate {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []common.NodeUpdate
	if r.reset != nil && len(r.mine) > 0 {
		out = append(out, r.update(r.mine[0], *r.reset))
	}
	for _, id := range r.mine {
		if t := r.tasks[id]; t != nil {
			if rep := t.Report(); rep.Reset != nil {
				out = append(out, r.update(id, *rep.Reset))
			}
		}
	}
	return out
}

func (r *Run) update(id ident.Task, reset dispatch.NeedReset) common.NodeUpdate {
	return common.NodeUpdate{
		StreamID: common.Int64(r.id), Stage: common.Int64(r.stage), Task: id.String(),
		Cause: common.Cause{Code: string(reset.Reason), Message: reset.String()},
	}
}
