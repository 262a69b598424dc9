package plan

import "github.com/pondage/pondage/internal/spec"

// settings fills in the numbers and their defaults.
func (b *builder) settings() {
	st, s := b.plan.Stream, &b.plan.Settings
	s.Watermark = b.elapsed("/watermark", st.Watermark, DefaultWatermark)
	s.IdleTimeout = max(b.elapsed("/idle_timeout", st.IdleTimeout, DefaultIdleTimeout), s.Watermark+minIdleBeyondDelay)
	s.CloseIdleAfter = b.elapsed("/close_idle_after", st.CloseIdleAfter, DefaultCloseIdleAfter)
	s.TableTTL = b.elapsed("/table_ttl", st.TableTTL, DefaultTableTTL)
	b.lateness()
	s.MaxGroups = orDefault(st.MaxGroups, DefaultMaxGroups)
	s.MaxDispatchBatch = DefaultDispatchBatch
	if st.Dispatch != nil && st.Dispatch.MaxBatch != nil {
		s.MaxDispatchBatch = int64(*st.Dispatch.MaxBatch)
	}
	if st.Edge != nil {
		s.EdgeKeep = b.elapsed("/edge/keep", st.Edge.Keep, 0)
	}
	s.Retain = DefaultRetain
	if st.Results != nil {
		s.Retain = b.elapsed("/results/retain", st.Results.Retain, DefaultRetain)
	}
	s.CheckpointInterval = b.elapsed("/checkpoint_interval", st.CheckpointInterval, DefaultCheckpointInterval)
	s.CheckpointTimeout = b.elapsed("/checkpoint_timeout", st.CheckpointTimeout, DefaultCheckpointTimeout)
	s.RetainCheckpoints = orDefault(st.Retain, DefaultRetainCheckpoints)
	s.MaxFailedCheckpoints = orDefault(st.MaxFailedCheckpoints, DefaultMaxFailedCheckpoints)
	s.MaxRestarts = orDefault(st.MaxRestarts, DefaultMaxRestarts)
	s.StartTimeout = b.elapsed("/start_timeout", st.StartTimeout, DefaultStartTimeout)
	b.trigger()
	b.webhook()
	b.bounds()
}

func (b *builder) lateness() {
	st, s := b.plan.Stream, &b.plan.Settings
	s.LateBy = st.LateBy
	if s.LateBy == "" {
		s.LateBy = spec.LateByWindow
	}
	if l := st.AllowedLateness; l != nil {
		s.Lateness.Unbounded = l.Unbounded
		s.Lateness.For = b.elapsed("/allowed_lateness", &l.For, 0)
	}
	if st.Window != nil {
		return
	}
	const hint = "add a window, or leave it out: without a window no row is late"
	if st.LateBy != "" {
		b.add(CodeNeedsWindow, "/late_by", hint, "late_by needs a window")
	}
	if st.AllowedLateness != nil {
		b.add(CodeNeedsWindow, "/allowed_lateness", hint, "allowed_lateness needs a window")
	}
}

// trigger fills in the trigger. Rows of a stream without window go out at once.
func (b *builder) trigger() {
	kind := b.plan.Stream.Trigger.Kind
	switch {
	case b.plan.Stream.Window != nil && kind == "":
		kind = spec.TriggerWindowClose
	case b.plan.Stream.Window == nil && kind == spec.TriggerWindowClose:
		b.add(CodeNeedsWindow, "/trigger", "add a window, or leave trigger out", "trigger window_close needs a window")
	case b.plan.Stream.Window == nil:
		kind = spec.TriggerAtOnce
	}
	b.plan.Trigger = kind
}

// bounds fills in where the stream starts and ends.
func (b *builder) bounds() {
	st := b.plan.Stream
	b.plan.Start = st.Start.Position
	if st.Until.Kind != "" {
		b.plan.Until = &st.Until.Position
	}
	switch {
	case b.plan.Start.Kind != "":
	case b.plan.Until != nil:
		b.plan.Start.Kind = spec.AtEarliest
	default:
		b.plan.Start.Kind = spec.AtLatest
	}
}

func orDefault(v *int64, byDefault int64) int64 {
	if v == nil {
		return byDefault
	}
	return *v
}
