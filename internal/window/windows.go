package window

import (
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// Windows names the windows and panes of one stream. It is the only code that does: live data, recalculation and
// explain-window all call it (trap T03).
//
// It computes on a scale (milliseconds, local days or local months), where every window is [s, s+size) with
// s ≡ origin mod slide. Only scale.go knows how a scale maps to instants.
//
// A Windows remembers the last pane it was asked about, so it must not be shared by goroutines.
type Windows struct {
	scale  scale
	size   int64 // of a window, on the scale
	slide  int64
	origin int64 // a window starts here, and every slide before and after
	pane   int64 // size of a pane: gcd(size, slide), or size when windows do not overlap

	// The pane asked about last: its bounds, and the ends of the first and the last window that hold it.
	paneLo, paneHi, paneFirstEnd, paneLastEnd ident.EventMs
}

// maxYears bounds sizes and offsets, so that no arithmetic on event times (years 0001 to 9999) overflows.
const maxYears = 10_000

// NewWindows checks the spec and returns its windows. Errors: ErrLength, ErrScale, ErrOffset, wrapped with the lengths.
func NewWindows(s Spec) (*Windows, error) {
	if s.Slide == (Length{}) {
		s.Slide = s.Size
	}
	for _, l := range []Length{s.Size, s.Slide} {
		if l.N < 1 || !l.bounded() {
			return nil, fmt.Errorf("%w: size %s, slide %s", ErrLength, s.Size, s.Slide)
		}
	}
	sc, ok := newScale(s)
	if !ok {
		return nil, fmt.Errorf("%w: size %s, slide %s, zone %s", ErrScale, s.Size, s.Slide, zoneOf(s))
	}
	w := &Windows{scale: sc, size: sc.length(s.Size), slide: sc.length(s.Slide)}
	if s.Size.Unit == UnitWeek || s.Slide.Unit == UnitWeek {
		w.origin = sc.weekOrigin(s.WeekStart)
	}
	if !s.Offset.bounded() || !w.shiftBy(s.Offset) {
		return nil, fmt.Errorf("%w: offset %s, size %s", ErrOffset, s.Offset, s.Size)
	}
	w.pane = w.size
	if w.slide < w.size {
		w.pane = gcd(w.size, w.slide)
	}
	w.paneLo, w.paneHi = 0, ident.WatermarkNone // empty: holds nothing
	return w, nil
}

// bounded tells whether the length is below maxYears in size.
func (l Length) bounded() bool {
	if int(l.Unit) >= len(unitNames) {
		return false
	}
	unitYears := [...]int64{UnitMillisecond: 365 * 24 * 3600 * 1000, UnitSecond: 365 * 24 * 3600, UnitMinute: 365 * 24 * 60, UnitHour: 365 * 24,
		UnitDay: 365, UnitWeek: 52, UnitMonth: 12, UnitYear: 1}
	limit := maxYears * unitYears[l.Unit]
	return l.N < limit && l.N > -limit
}

// shiftBy moves the windows by the offset: on the scale where it can be expressed there, else as wall-clock time.
func (w *Windows) shiftBy(offset Length) bool {
	months := offset.Unit == UnitMonth || offset.Unit == UnitYear
	days := offset.Unit == UnitDay || offset.Unit == UnitWeek
	n := offset.N * unitSizes[offset.Unit]
	switch {
	case offset.N == 0:
	case months && w.scale.kind != scaleMonths:
		return false
	case months, days && w.scale.kind == scaleDays, !days && w.scale.kind == scaleMs:
		w.origin += n
	case days && w.scale.kind == scaleMs:
		w.origin += n * dayMs
	case days:
		w.scale.shift = n * dayMs
	default:
		w.scale.shift = n
	}
	return true
}

// Direct tells whether windows do not overlap, so that each is its own pane.
func (w *Windows) Direct() bool { return w.slide >= w.size }

// Holds tells whether ts lies in any window. It does, always, unless the slide is larger than the size.
func (w *Windows) Holds(ts ident.EventMs) bool {
	if w.slide <= w.size {
		return true
	}
	w.seek(ts)
	return ts < w.paneHi
}

// Pane returns the start of the pane that holds ts. Where ts lies in a gap between windows (see Holds), it is the pane
// before the gap.
func (w *Windows) Pane(ts ident.EventMs) ident.EventMs {
	if ts < w.paneLo || ts >= w.paneHi {
		w.seek(ts)
	}
	return w.paneLo
}

// LastEnd returns the end of the last window that holds ts, in a gap that of the last window before it: a row is late
// once its partition's watermark minus the allowed lateness has reached it (DESIGN §8).
func (w *Windows) LastEnd(ts ident.EventMs) ident.EventMs {
	if ts < w.paneLo || ts >= w.paneHi {
		w.seek(ts)
	}
	return w.paneLastEnd
}

// seek makes the pane of ts the remembered one.
func (w *Windows) seek(ts ident.EventMs) {
	p := w.paneOf(w.scale.ordinal(ts))
	w.paneLo, w.paneHi = w.scale.instant(p), w.scale.instant(p+w.pane)
	w.paneFirstEnd = w.scale.instant(w.firstStart(p) + w.size)
	w.paneLastEnd = w.scale.instant(w.lastStart(p) + w.size)
}

// paneOf returns the pane of a point on the scale.
func (w *Windows) paneOf(at int64) int64 {
	step := w.pane
	if w.Direct() {
		step = w.slide
	}
	return floorTo(at-w.origin, step) + w.origin
}

// firstStart and lastStart are the starts of the first and last window that hold the pane, on the scale.
func (w *Windows) firstStart(pane int64) int64 {
	return ceilTo(pane+w.pane-w.size-w.origin, w.slide) + w.origin
}

func (w *Windows) lastStart(pane int64) int64 { return floorTo(pane-w.origin, w.slide) + w.origin }

// AppendStarts appends the starts of all windows that hold ts, in rising order; none when ts lies in a gap.
func (w *Windows) AppendStarts(dst []ident.EventMs, ts ident.EventMs) []ident.EventMs {
	if !w.Holds(ts) {
		return dst
	}
	p := w.paneOf(w.scale.ordinal(ts))
	for s := w.firstStart(p); s <= w.lastStart(p); s += w.slide {
		dst = append(dst, w.scale.instant(s))
	}
	return dst
}

// End returns the end of the window that starts at start.
func (w *Windows) End(start ident.EventMs) ident.EventMs {
	return w.scale.instant(w.scale.ordinal(start) + w.size)
}

// FirstEndingAfter returns the first window that holds the pane and ends after t. ok is false when none does.
func (w *Windows) FirstEndingAfter(pane, t ident.EventMs) (start ident.EventMs, ok bool) {
	p := w.paneOf(w.scale.ordinal(pane))
	s := max(w.firstStart(p), floorTo(w.scale.ordinal(clamp(t))-w.size-w.origin, w.slide)+w.slide+w.origin)
	return w.scale.instant(s), s <= w.lastStart(p)
}

// Next returns the start of the window after the one that starts at start.
func (w *Windows) Next(start ident.EventMs) ident.EventMs {
	return w.scale.instant(w.scale.ordinal(start) + w.slide)
}

// PassesEnd tells whether some window ends after before and at or before now: whether a watermark that moves from
// before to now has passed a possible window end (DESIGN §6).
func (w *Windows) PassesEnd(before, now ident.EventMs) bool {
	if now <= before {
		return false
	}
	if now >= maxTime || before <= minTime {
		return true
	}
	lastEnd := func(t ident.EventMs) int64 { return floorTo(w.scale.ordinal(t)-w.size-w.origin, w.slide) }
	return lastEnd(now) > lastEnd(before)
}

// minTime and maxTime bound the arguments of calendar arithmetic: far outside the years 0001 to 9999, and small
// enough that adding a window's size does not overflow.
const (
	maxTime ident.EventMs = 1 << 50
	minTime ident.EventMs = -maxTime
)

func clamp(t ident.EventMs) ident.EventMs { return min(max(t, minTime), maxTime) }

// zoneOf names the zone of a spec.
func zoneOf(s Spec) string {
	if s.Zone == nil {
		return time.UTC.String()
	}
	return s.Zone.String()
}

// floorTo returns the highest multiple of step that is at most v: it rounds toward minus infinity (trap T02).
func floorTo(v, step int64) int64 {
	q := v / step
	if v%step < 0 {
		q--
	}
	return q * step
}

// ceilTo returns the lowest multiple of step that is at least v.
func ceilTo(v, step int64) int64 { return -floorTo(-v, step) }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
