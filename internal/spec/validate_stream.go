package spec

import (
	"reflect"
	"time"
)

const (
	// minCheckpointInterval is the shortest interval of checkpoints (DESIGN §7).
	minCheckpointInterval = 100 * time.Millisecond
	// maxDispatchBatch keeps a batch at half of the edge topics' max.message.bytes (DESIGN §4).
	maxDispatchBatch = Size(4 << 20)
)

// decodeStream reads a stream from a tree; a fault has the pointer of its value.
func decodeStream(root *node) (*Stream, error) {
	var d decoder
	s := &Stream{}
	d.object("", root.without("kind"), reflect.ValueOf(s).Elem())
	d.checkStream(s)
	if err := d.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (d *decoder) checkStream(s *Stream) {
	if s.Name != "" {
		d.checkName("/name", s.Name)
	}
	if s.Source != "" {
		d.checkName("/source", s.Source)
	}
	if len(s.Select) == 0 && !d.has("/select") {
		d.fault(CodeMissingMember, "", "add select: [{expr: …, as: …}]", "select is missing or empty")
	}
	if s.SubtableExact && s.Subtable == "" {
		d.fault(CodeConflict, "/subtable_exact", "add subtable", "subtable_exact needs a subtable")
	}
	if s.Window != nil {
		d.checkWindow("/window", s.Window)
	}
	if s.Fill != nil {
		d.checkFill("/fill", s.Fill)
	}
	checkWord(d, "/late_by", s.LateBy, []LateBy{LateByWindow, LateByTable})
	d.checkTimes(s)
	d.checkOutputs(s.Outputs)
	d.checkLimits(s)
}

func (d *decoder) checkTimes(s *Stream) {
	d.checkElapsed("/watermark", s.Watermark)
	if s.AllowedLateness != nil && !s.AllowedLateness.Unbounded {
		d.checkElapsed("/allowed_lateness", &s.AllowedLateness.For)
	}
	if s.Trigger.Every != (Duration{}) {
		d.checkElapsed("/trigger", &s.Trigger.Every)
	}
	d.checkElapsed("/table_ttl", s.TableTTL)
	d.checkElapsed("/idle_timeout", s.IdleTimeout)
	d.checkElapsed("/close_idle_after", s.CloseIdleAfter)
	d.checkElapsed("/checkpoint_interval", s.CheckpointInterval)
	d.checkElapsed("/checkpoint_timeout", s.CheckpointTimeout)
	d.checkElapsed("/start_timeout", s.StartTimeout)
	if s.Results != nil {
		d.checkElapsed("/results/retain", s.Results.Retain)
	}
	if s.Edge != nil {
		d.checkElapsed("/edge/keep", s.Edge.Keep)
	}
	if s.CheckpointInterval != nil {
		if ms, ok := s.CheckpointInterval.Millis(); ok && ms < minCheckpointInterval.Milliseconds() {
			d.fault(CodeInvalidValue, "/checkpoint_interval", "", "want at least %s, found %s", minCheckpointInterval, s.CheckpointInterval)
		}
	}
}

func (d *decoder) checkLimits(s *Stream) {
	d.checkAtLeast("/retain", s.Retain, 1)
	d.checkAtLeast("/max_failed_checkpoints", s.MaxFailedCheckpoints, 1)
	d.checkAtLeast("/max_restarts", s.MaxRestarts, 0)
	d.checkAtLeast("/max_groups", s.MaxGroups, 1)
	if s.Dispatch != nil && s.Dispatch.MaxBatch != nil && (*s.Dispatch.MaxBatch < 1 || *s.Dispatch.MaxBatch > maxDispatchBatch) {
		d.fault(CodeInvalidValue, "/dispatch/max_batch", "", "want 1B to %s, found %s", maxDispatchBatch, *s.Dispatch.MaxBatch)
	}
}
