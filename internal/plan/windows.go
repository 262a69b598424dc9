package plan

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
	"github.com/pondage/pondage/internal/window"
)

// maxOverlap bounds how many sliding windows hold a row: each of them is a result row for every group.
const maxOverlap = 100_000

// window makes the window spec. What sizes, slides and offsets go together is asked of package window.
func (b *builder) window() {
	w := b.plan.Stream.Window
	if w == nil || w.Kind != spec.WindowInterval {
		return
	}
	out := &window.Spec{Size: lengthOf(w.Size), Slide: lengthOf(w.Sliding), Offset: lengthOf(w.Offset), Zone: b.plan.zone}
	if w.WeekStart != "" {
		out.WeekStart = window.WeekStart(slices.Index(spec.Weekdays, w.WeekStart))
	}
	before := b.count()
	b.windowSizes(w)
	if b.count() > before {
		return
	}
	if _, err := window.NewWindows(*out); err != nil {
		b.add(CodeInvalidWindow, "/window", "choose sizes on one scale: ms to h, or d and w, or n and y", "%v", err)
		return
	}
	b.plan.Window = out
}

// windowSizes refuses sizes that mean no window, each at its own member.
func (b *builder) windowSizes(w *spec.Window) {
	if w.Size.N < 1 {
		b.add(CodeInvalidWindow, "/window/size", "for example 1h", "a window of %s holds nothing", w.Size)
	}
	if w.Sliding != nil && w.Sliding.N < 1 {
		b.add(CodeInvalidWindow, "/window/sliding", "for example 10m", "windows cannot slide by %s", w.Sliding)
	}
	size, fixed := w.Size.Millis()
	if !fixed {
		return // months and years: package window compares them
	}
	if slide, ok := millis(w.Sliding); ok && slide > 0 && size/slide > maxOverlap {
		b.add(CodeInvalidWindow, "/window/sliding", "slide by more", "a row would lie in %d windows, more than %d", size/slide, maxOverlap)
	}
	if offset, ok := millis(w.Offset); ok && (offset >= size || offset <= -size) {
		b.add(CodeInvalidWindow, "/window/offset", "take the rest of the division by the size", "the offset %s is not shorter than the window of %s", w.Offset, w.Size)
	}
}

func millis(d *spec.Duration) (int64, bool) {
	if d == nil {
		return 0, false
	}
	return d.Millis()
}

// windowUnits maps the units of durations to those of window lengths.
var windowUnits = map[sql.Unit]window.Unit{
	sql.UnitMillisecond: window.UnitMillisecond, sql.UnitSecond: window.UnitSecond, sql.UnitMinute: window.UnitMinute, sql.UnitHour: window.UnitHour,
	sql.UnitDay: window.UnitDay, sql.UnitWeek: window.UnitWeek, sql.UnitMonth: window.UnitMonth, sql.UnitYear: window.UnitYear,
}

// lengthOf returns the zero Length for an absent duration.
func lengthOf(d *spec.Duration) window.Length {
	if d == nil {
		return window.Length{}
	}
	unit, ok := windowUnits[d.Unit]
	if !ok {
		panic(fmt.Sprintf("plan: duration unit %d has no window unit", d.Unit))
	}
	return window.Length{N: d.N, Unit: unit}
}
