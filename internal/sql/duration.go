package sql

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pondage/pondage/internal/invalid"
)

// Unit is the unit of a Duration.
type Unit uint8

// The units. From UnitDay on they are calendar units: how long one is depends on the zone and the date.
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

var unitText = [...]string{
	UnitMillisecond: "ms", UnitSecond: "s", UnitMinute: "m", UnitHour: "h", UnitDay: "d", UnitWeek: "w", UnitMonth: "n", UnitYear: "y",
}

// unitMs is the length of the units that have one, in milliseconds; a day counts as 24 hours (see FixedMs).
var unitMs = [...]int64{UnitMillisecond: 1, UnitSecond: 1000, UnitMinute: 60_000, UnitHour: 3_600_000, UnitDay: 86_400_000, UnitWeek: 7 * 86_400_000}

// String returns the unit as it is written.
func (u Unit) String() string { return unitText[u] }

// Calendar tells whether the unit is one of the calendar: day, week, month, year.
func (u Unit) Calendar() bool { return u >= UnitDay }

// Duration is a number of units, "15m". It may be negative (an offset); whoever takes one checks its range.
type Duration struct {
	N    int64
	Unit Unit
}

// String returns the form that ParseDuration reads.
func (d Duration) String() string { return strconv.FormatInt(d.N, 10) + d.Unit.String() }

// FixedMs returns the duration in milliseconds, with days of 24 hours and weeks of 7 such days: what a delay, a limit or
// a time to live means by `1d`. Window sizes in calendar units must not use it. Months and years have no fixed length
// and are an error, as is a duration beyond int64.
func (d Duration) FixedMs() (int64, error) {
	if int(d.Unit) >= len(unitMs) {
		return 0, fmt.Errorf("duration %s: months and years have no fixed length", d)
	}
	ms := unitMs[d.Unit]
	if d.N > math.MaxInt64/ms || d.N < math.MinInt64/ms {
		return 0, fmt.Errorf("duration %s: out of range", d)
	}
	return d.N * ms, nil
}

// unitOf finds a unit by its text.
func unitOf(text string) (Unit, bool) {
	for u, s := range unitText {
		if s == text {
			return Unit(u), true
		}
	}
	return 0, false
}

// ParseDuration reads <int><unit>, with an optional minus and nothing around it. The error is an *invalid.Error.
func ParseDuration(text string) (Duration, error) {
	toks, err := lex(text)
	if err != nil {
		return Duration{}, err
	}
	i, sign := 0, ""
	if toks[0].isOp("-") {
		i, sign = 1, "-"
	}
	t := toks[i]
	if t.kind != tokenDuration || toks[i+1].kind != tokenEOF || len(text) != len(sign)+len(t.text) {
		whole := invalid.Span{Length: len(text), Line: 1, Column: 1}
		return Duration{}, syntaxError(whole, fmt.Sprintf("%q is not a duration", text), durationHint)
	}
	return durationOf(t, sign)
}

const durationHint = "a duration is a number and a unit without space: ms, s, m (minute), h, d, w, n (month), y; for example 15m"

// durationOf reads the digits and unit of a duration token.
func durationOf(t token, sign string) (Duration, error) {
	digits := 0
	for digits < len(t.text) && isDigit(t.text[digits]) {
		digits++
	}
	unit, ok := unitOf(t.text[digits:])
	n, err := strconv.ParseInt(sign+t.text[:digits], 10, 64)
	if err != nil || !ok {
		return Duration{}, syntaxError(t.at, fmt.Sprintf("duration %s%s is out of range", sign, t.text), "")
	}
	return Duration{N: n, Unit: unit}, nil
}
