package plan

import "github.com/pondage/pondage/internal/spec"

// supported refuses what specs may say and this version does not do yet. It is the only list of such things, but for
// aggregate functions, whose list is package agg's, and upsert sources (BuildInput).
func (b *builder) supported() {
	st := b.plan.Stream
	if w := st.Window; w != nil && w.Kind != spec.WindowInterval {
		b.notSupported("/window/kind", string(w.Kind)+" windows", "use an interval window: INTERVAL(1h) or {kind: interval, size: 1h}")
	}
	switch st.Trigger.Kind {
	case "", spec.TriggerWindowClose, spec.TriggerAtOnce:
	default:
		b.notSupported("/trigger", string(st.Trigger.Kind)+" triggers", "use trigger: window_close or at_once")
	}
	if st.Fill != nil {
		b.notSupported("/fill", "filled windows", "leave fill out")
	}
	if st.FillHistory != nil {
		b.notSupported("/fill_history", "streams over history", "leave fill_history out; start: earliest reads what the topic still has")
	}
	if st.SubtableExact {
		b.notSupported("/subtable_exact", "exact subtable names", "leave subtable_exact out: names get a suffix where groups could collide")
	}
}
