package window

import (
	"errors"
	"fmt"
	"time"
)

// Unit is a unit of a window's length. Day, week, month and year are calendar units in the stream's zone.
type Unit uint8

// The units of INTERFACE §2.
const (
	UnitMillisecond Unit = iota
	UnitSecond
	UnitMinute
	UnitHour
	UnitDay
	UnitWeek
	UnitMonth
	UnitYear
)

var unitNames = [...]string{"ms", "s", "m", "h", "d", "w", "n", "y"}

// unitSizes is the length of each unit on its scale: ms, days or months.
var unitSizes = [...]int64{1, 1000, 60 * 1000, 60 * 60 * 1000, 1, 7, 1, 12}

// Length is a whole number of units.
type Length struct {
	N    int64
	Unit Unit
}

// String returns the length as in SQL: "10s", "3n".
func (l Length) String() string { return fmt.Sprintf("%d%s", l.N, unitNames[l.Unit]) }

// WeekStart is the first day of the week. The zero value is Monday.
type WeekStart uint8

// The days a week may start on; the numbers count from Monday.
const (
	WeekStartMonday WeekStart = iota
	WeekStartTuesday
	WeekStartWednesday
	WeekStartThursday
	WeekStartFriday
	WeekStartSaturday
	WeekStartSunday
)

// Spec says which windows a stream has: INTERVAL(size[, offset]) [SLIDING(slide)] [TIMEZONE zone].
//
// Lengths in ms, s, m and h make fixed windows, aligned to the epoch plus Offset. Lengths in d and w make calendar
// windows of local days, n and y of local months, counted from January 1970. In UTC days and weeks are fixed too and
// mix with hours; in any other zone, and for months, Size and Slide must be on one scale (both fixed, both days, both
// months).
//
// Offset shifts all windows. A fixed offset of a calendar window is wall-clock time: INTERVAL(1d, 6h) is the day from
// 06:00 to 06:00, also when the clocks change. Days may shift weeks and days, months may shift months and years.
//
// Weeks are counted from the one that holds 1970-01-01, days from 1970-01-01.
type Spec struct {
	Size   Length
	Slide  Length // the zero Length: equal to Size (tumbling)
	Offset Length // the zero Length: none; may be negative
	// Zone is where days and months begin; nil is UTC.
	Zone      *time.Location
	WeekStart WeekStart
}

// Errors of NewWindows; use errors.Is.
var (
	ErrLength = errors.New("window size and slide must be at least 1ms and less than 10000 years")
	ErrScale  = errors.New("window size and slide must both be fixed, both in days or weeks, or both in months or years")
	ErrOffset = errors.New("window offset must be on a finer scale than months for fixed and day windows")
)

// The longest days and months there are, for Longest: a day may have 25 hours, in zones that move further a few more.
const (
	longestDay   = 27 * time.Hour
	longestMonth = 31*24*time.Hour + 3*time.Hour
)

// Longest is the most time that the length can span, in whatever zone.
func (l Length) Longest() time.Duration {
	switch l.Unit {
	case UnitDay:
		return time.Duration(l.N) * longestDay
	case UnitWeek:
		return time.Duration(l.N) * 7 * longestDay
	case UnitMonth:
		return time.Duration(l.N) * longestMonth
	case UnitYear:
		return time.Duration(l.N) * 12 * longestMonth
	default:
		return time.Duration(l.N*unitSizes[l.Unit]) * time.Millisecond
	}
}
