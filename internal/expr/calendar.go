package expr

import (
	"time"

	"github.com/pondage/pondage/internal/calendar"
	"github.com/pondage/pondage/internal/sql"
)

// The fixed units, in milliseconds.
const (
	msSecond = 1000
	msMinute = 60 * msSecond
	msHour   = 60 * msMinute
	msDay    = 24 * msHour
)

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// truncate returns the beginning of the unit that holds t, in the zone. A day, week, month, quarter or year begins at the
// first instant at which the zone's wall clock shows its first date or later; weeks begin on Monday.
func truncate(ms int64, unit timePart, zone *time.Location) int64 {
	t := time.UnixMilli(ms).In(zone)
	if fixed, ok := fixedParts[unit]; ok {
		_, offset := t.Zone()
		wall := ms + int64(offset)*msSecond
		return ms - floorMod(wall, fixed)
	}
	year, month, day := t.Date()
	switch unit {
	case partWeek:
		day -= isoWeekday(t) - 1
	case partMonth:
		day = 1
	case partQuarter:
		month, day = month-(month-1)%3, 1
	case partYear:
		month, day = time.January, 1
	default: // partDay
	}
	return calendar.FirstInstant(zone, time.Date(year, month, day, 0, 0, 0, 0, time.UTC).UnixMilli())
}

func floorMod(a, b int64) int64 { return ((a % b) + b) % b }

// isoWeekday counts Monday as 1, Sunday as 7.
func isoWeekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

// addDuration moves a time by a duration; ok is false outside the years 0001 to 9999. Calendar units keep the wall
// clock in the zone, and clip the day to the month: January 31 plus a month is the last of February.
func addDuration(ms int64, d sql.Duration, zone *time.Location) (int64, bool) {
	const farthest = 400_000 * 366 * msDay // beyond any pair of valid times; keeps the arithmetic below from wrapping
	if !d.Unit.Calendar() {
		by, err := d.FixedMs()
		if err != nil || by > farthest || by < -farthest {
			return 0, false
		}
		return inRange(ms + by)
	}
	const mostUnits = 4_000_000 // days between the years 0001 and 9999
	if d.N > mostUnits || d.N < -mostUnits {
		return 0, false
	}
	n := int(d.N)
	t := time.UnixMilli(ms).In(zone)
	switch d.Unit {
	case sql.UnitWeek:
		t = t.AddDate(0, 0, 7*n)
	case sql.UnitMonth:
		t = addMonths(t, n)
	case sql.UnitYear:
		t = addMonths(t, 12*n)
	default: // sql.UnitDay
		t = t.AddDate(0, 0, n)
	}
	return inRange(t.UnixMilli())
}

func addMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	first := time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	day = min(day, daysIn(first.Year(), int(first.Month())))
	hour, minute, second := t.Clock()
	return time.Date(first.Year(), first.Month(), day, hour, minute, second, t.Nanosecond(), t.Location())
}
