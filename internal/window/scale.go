package window

import (
	"time"

	"github.com/pondage/pondage/internal/calendar"
	"github.com/pondage/pondage/internal/ident"
)

// dayMs is the length of a day on the wall clock: 24 hours, whatever the clocks do. Never the length of a local day.
const dayMs = 24 * 60 * 60 * 1000

type scaleKind uint8

const (
	scaleMs     scaleKind = iota // milliseconds since the epoch
	scaleDays                    // local days since 1970-01-01
	scaleMonths                  // local months since January 1970
)

// scale maps between instants and a count of milliseconds, local days or local months.
type scale struct {
	kind  scaleKind
	zone  *time.Location
	shift int64 // ms of wall-clock time after midnight (or after the first of the month) at which a day (month) begins
}

// newScale returns the scale of the spec's lengths; ok is false when they have none in common.
func newScale(s Spec) (scale, bool) {
	kind := func(l Length) scaleKind {
		switch l.Unit {
		case UnitMonth, UnitYear:
			return scaleMonths
		case UnitDay, UnitWeek:
			return scaleDays
		default:
			return scaleMs
		}
	}
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	size, slide := kind(s.Size), kind(s.Slide)
	utc := zone == time.UTC || zone.String() == "UTC" || zone.String() == "Etc/UTC"
	if utc && size != scaleMonths && slide != scaleMonths {
		return scale{kind: scaleMs}, true
	}
	return scale{kind: size, zone: zone}, size == slide
}

// length returns a length on the scale.
func (s scale) length(l Length) int64 {
	n := l.N * unitSizes[l.Unit]
	if s.kind == scaleMs && (l.Unit == UnitDay || l.Unit == UnitWeek) {
		n *= dayMs
	}
	return n
}

// weekOrigin is where the week that holds 1970-01-01, a Thursday, begins.
func (s scale) weekOrigin(first WeekStart) int64 {
	const daysInWeek = 7
	back := (int64(WeekStartThursday) - int64(first) + daysInWeek) % daysInWeek
	if s.kind == scaleMs {
		return -back * dayMs
	}
	return -back
}

// ordinal returns the point of the scale that t belongs to: the one with instant(o) ≤ t < instant(o+1).
func (s scale) ordinal(t ident.EventMs) int64 {
	if s.kind == scaleMs {
		return int64(t)
	}
	t = clamp(t)
	at := time.UnixMilli(int64(t)).In(s.zone)
	_, offset := at.Zone()
	day := floorTo(int64(t)+int64(offset)*1000-s.shift, dayMs) / dayMs
	o := day
	if s.kind == scaleMonths {
		o = monthOf(day)
	}
	// Where the clocks go back over midnight, the wall shows a day again that is over, or one that has not begun.
	for s.instant(o) > t {
		o--
	}
	for s.instant(o+1) <= t {
		o++
	}
	return o
}

// instant returns when the point of the scale begins: the first existing instant at which the wall clock in the zone
// is at or past it.
func (s scale) instant(o int64) ident.EventMs {
	switch s.kind {
	case scaleDays:
		return ident.EventMs(calendar.FirstInstant(s.zone, o*dayMs+s.shift))
	case scaleMonths:
		return ident.EventMs(calendar.FirstInstant(s.zone, dayOf(o)*dayMs+s.shift))
	default:
		return ident.EventMs(o)
	}
}

// monthOf returns the month, counted from January 1970, that holds the day counted from 1970-01-01.
func monthOf(day int64) int64 {
	y, m, _ := time.UnixMilli(day * dayMs).UTC().Date()
	return int64(y-1970)*12 + int64(m) - 1
}

// dayOf returns the first day of the month.
func dayOf(month int64) int64 {
	t := time.Date(1970, time.January+time.Month(month), 1, 0, 0, 0, 0, time.UTC)
	return floorTo(t.UnixMilli(), dayMs) / dayMs
}
