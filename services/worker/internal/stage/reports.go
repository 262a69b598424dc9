package stage

import (
	"errors"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/storage"
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
		Partitions: []common.PartitionReport{}, Note: r.noteOf(t.Progress), Committed: common.Int64(t.Committed),
	}
	if t.Cause != nil {
		out.Cause = &common.Cause{Code: t.Cause.Code, Message: t.Cause.Message}
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

// The standing conditions of a task that are no failures (DESIGN §§5, 9).
const (
	noteSinkUnreachable = "sink_unreachable" // an output is retried
	notePeerSilent      = "peer_silent"      // a receiving node does not say what it has consumed: nothing goes there
	noteStarting        = "starting"         // the bring-up waits for something outside
	noteDiskFull        = "disk_full"        // and that is room on a disk of the node
)

// noteOf says what a task waits for, under r.mu; "" when there is nothing to say.
func (r *Run) noteOf(p task.Progress) string {
	for _, s := range p.Sinks {
		if s.Problem != "" {
			return noteSinkUnreachable + ": " + s.Kind + ": " + s.Problem
		}
	}
	for _, place := range p.Silent {
		return notePeerSilent + ": " + place.String()
	}
	if len(r.notes) == 0 {
		return ""
	}
	what := slices.Min(slices.Collect(maps.Keys(r.notes)))
	note, why := noteStarting, r.notes[what]
	if errors.Is(why, storage.ErrFull) {
		note = noteDiskFull
	}
	return note + ": " + what + ": " + why.Error()
}

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
		Cause: common.Cause{Code: resetCode(reset.Reason), Message: reset.String()},
	}
}

// The codes of the causes of a reset; what a task has found corrupt has Kafka's code for it.
const (
	codeRefused      = "stage_refused"
	codeNoSuchTask   = "no_such_task"
	codeNewerStage   = "newer_stage"
	codeEdgeGap      = "edge_gap"
	codeNewerVersion = "newer_version"
)

var resetCodes = map[dispatch.Reason]string{
	dispatch.ReasonRefused:    codeRefused,
	dispatch.ReasonNoSuchTask: codeNoSuchTask,
	dispatch.ReasonNewStage:   codeNewerStage,
	dispatch.ReasonGap:        codeEdgeGap,
	dispatch.ReasonVersion:    codeNewerVersion,
	dispatch.ReasonCorrupt:    string(kafka.CodeCorrupt),
}

func resetCode(r dispatch.Reason) string { return resetCodes[r] }
