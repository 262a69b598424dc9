package calendar

import "time"

// widestOffset is wider than any zone's offset from UTC.
const widestOffset = 26 * time.Hour

// FirstInstant returns the first instant at which the wall clock of the zone shows wall or later, in ms since the epoch;
// wall is ms since 1970-01-01T00:00 on the wall. A wall time that does not exist becomes the end of the gap (time.Date
// would answer with a time of the day before, trap T01); of a wall time that exists twice, it is the first. Never fails.
func FirstInstant(zone *time.Location, wall int64) int64 {
	if zone == time.UTC {
		return wall
	}
	at := time.UnixMilli(wall).Add(-widestOffset).In(zone)
	for {
		_, offset := at.Zone()
		_, until := at.ZoneBounds()
		t := max(wall-int64(offset)*1000, at.UnixMilli())
		// Go finds the last day of a leap year behind the zone's table (2040, say) to lie after its own end, hours or a
		// year too early: the offset is right, and no zone changes on that day.
		if until.IsZero() || !until.After(at) || t < until.UnixMilli() {
			return t
		}
		at = until
	}
}
