package numtext

// The event times that Pondage knows: the years 0001 to 9999, in epoch milliseconds.
const (
	MinTimeMs = -62135596800000 // 0001-01-01T00:00:00.000Z
	MaxTimeMs = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// TimeFit says whether a text is a time.
type TimeFit uint8

// The ways to be a time.
const (
	TimeExact      TimeFit = iota
	TimeMalformed          // not a date-time of RFC 3339
	TimeOutOfRange         // one outside the years 0001 to 9999 in UTC
)

const (
	secondsPerMinute = 60
	secondsPerHour   = 3600
	secondsPerDay    = 86400
	msPerSecond      = 1000
)

// ParseTime reads a date-time of RFC 3339, which always has an offset, as epoch milliseconds. What is finer than a
// millisecond is cut off: towards the past, also before 1970. A second 60 is malformed: epoch milliseconds have no
// place for it.
func ParseTime(text []byte) (ms int64, fit TimeFit) {
	const (
		secondEnd = len("2006-01-02T15:04:05")
		shortest  = secondEnd + len("Z")
	)
	if len(text) < shortest {
		return 0, TimeMalformed
	}
	day, okDay := parseDate(text[:10])
	second, okTime := parseClock(text[11:secondEnd])
	frac, zone, okFrac := parseFraction(text[secondEnd:])
	offset, okZone := parseZone(zone)
	if !okDay || text[10]|0x20 != 't' || !okTime || !okFrac || !okZone {
		return 0, TimeMalformed
	}
	ms = (day*secondsPerDay+second-offset)*msPerSecond + frac
	if ms < MinTimeMs || ms > MaxTimeMs {
		return 0, TimeOutOfRange
	}
	return ms, TimeExact
}

// parseDate reads yyyy-mm-dd as days since 1970-01-01.
func parseDate(b []byte) (days int64, ok bool) {
	century, ok1 := twoDigits(b[0:])
	year, ok2 := twoDigits(b[2:])
	month, ok3 := twoDigits(b[5:])
	day, ok4 := twoDigits(b[8:])
	year += 100 * century
	ok = ok1 && ok2 && ok3 && ok4 && b[4] == '-' && b[7] == '-' &&
		month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
	if !ok {
		return 0, false
	}
	return daysFromCivil(year, month, day), true
}

func daysIn(year, month int64) int64 {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return int64([...]int8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month])
}

// daysFromCivil counts the days from 1970-01-01 in the Gregorian calendar. The year is taken to begin in March, so that
// the leap day is its last; year is not negative.
func daysFromCivil(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	const (
		marchStart = 719469       // days from the March that year 0 would begin with to 1970-01-01, plus 1 for day 1
		yearShift  = 400          // keeps the divisions below from rounding towards zero for January of year 0
		shiftDays  = 400*365 + 97 // days in 400 years
		monthDays  = 153          // of five months from March on, in any five
	)
	y := year + yearShift
	return y*365 + y/4 - y/100 + y/400 + (monthDays*(month-3)+2)/5 + day - marchStart - shiftDays
}

// parseClock reads hh:mm:ss as seconds of the day.
func parseClock(b []byte) (seconds int64, ok bool) {
	hour, ok1 := twoDigits(b[0:])
	minute, ok2 := twoDigits(b[3:])
	second, ok3 := twoDigits(b[6:])
	ok = ok1 && ok2 && ok3 && b[2] == ':' && b[5] == ':' && hour < 24 && minute < 60 && second < 60
	return hour*secondsPerHour + minute*secondsPerMinute + second, ok
}

// parseFraction reads an optional .ddd… as whole milliseconds and returns what follows.
func parseFraction(b []byte) (ms int64, rest []byte, ok bool) {
	if b[0] != '.' {
		return 0, b, true
	}
	i := 1
	for scale := int64(100); i < len(b) && b[i]-'0' <= 9; i++ {
		ms += int64(b[i]-'0') * scale
		scale /= 10
	}
	return ms, b[i:], i > 1
}

// parseZone reads Z or ±hh:mm as seconds east of UTC.
func parseZone(b []byte) (seconds int64, ok bool) {
	if len(b) == 1 {
		return 0, b[0]|0x20 == 'z'
	}
	if len(b) != len("+01:00") || (b[0] != '+' && b[0] != '-') || b[3] != ':' {
		return 0, false
	}
	hour, ok1 := twoDigits(b[1:])
	minute, ok2 := twoDigits(b[4:])
	seconds = hour*secondsPerHour + minute*secondsPerMinute
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, ok1 && ok2 && hour < 24 && minute < 60
}

func twoDigits(b []byte) (int64, bool) {
	tens, ones := b[0]-'0', b[1]-'0'
	return int64(tens)*10 + int64(ones), tens <= 9 && ones <= 9
}
