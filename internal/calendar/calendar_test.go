package calendar_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/calendar"
)

func TestT01_DateBeginsAtItsFirstExistingInstant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, wall, want string }{
		{"Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:00:00Z"},     // in the gap: its end
		{"Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"},     // exists twice: the first
		{"Africa/Cairo", "2023-04-28T00:00:00", "2023-04-27T22:00:00Z"},      // the clock jumps over midnight
		{"America/Sao_Paulo", "2018-11-04T00:00:00", "2018-11-04T03:00:00Z"}, // likewise
		{"America/Havana", "2025-11-02T00:00:00", "2025-11-02T04:00:00Z"},    // midnight and 00:30 exist twice
		{"Pacific/Apia", "2011-12-30T00:00:00", "2011-12-30T10:00:00Z"},      // the whole day was left out
		{"UTC", "1969-12-31T23:59:59", "1969-12-31T23:59:59Z"},
	} {
		got := calendar.FirstInstant(zone(t, c.zone), wall(t, c.wall))
		if at := time.UnixMilli(got).UTC().Format(time.RFC3339); at != c.want {
			t.Errorf("%s in %s begins %s, want %s", c.wall, c.zone, at, c.want)
		}
	}
}

// TestTheLastDayOfALeapYearEnds: for that day, behind the zone's table, Go gives bounds that the day does not lie in.
func TestTheLastDayOfALeapYearEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, wall, want string }{
		{"Europe/Berlin", "2041-01-01T00:00:00", "2040-12-31T23:00:00Z"},
		{"Europe/Berlin", "2041-01-02T12:00:00", "2041-01-02T11:00:00Z"},
		{"America/New_York", "2088-12-31T20:00:00", "2089-01-01T01:00:00Z"},
	} {
		got := calendar.FirstInstant(zone(t, c.zone), wall(t, c.wall))
		if at := time.UnixMilli(got).UTC().Format(time.RFC3339); at != c.want {
			t.Errorf("%s in %s begins %s, want %s", c.wall, c.zone, at, c.want)
		}
	}
}

// TestNoEarlierInstantShowsTheWallTime walks minute by minute through the two days before the answer.
func TestNoEarlierInstantShowsTheWallTime(t *testing.T) {
	t.Parallel()
	names := []string{"Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Africa/Cairo", "Pacific/Apia", "Asia/Kathmandu", "Australia/Lord_Howe"}
	const minute, twoDays = 60_000, 2 * 24 * 60
	rapid.Check(t, func(r *rapid.T) {
		z := zone(t, rapid.SampledFrom(names).Draw(r, "zone"))
		w := rapid.Int64Range(0, 2_000_000_000/60).Draw(r, "minutes since 1970") * minute
		got := calendar.FirstInstant(z, w)
		shows := func(at int64) int64 {
			_, offset := time.UnixMilli(at).In(z).Zone()
			return at + int64(offset)*1000
		}
		if shows(got) < w {
			r.Fatalf("at %d the wall shows %d, before %d", got, shows(got), w)
		}
		for at := got - minute; at > got-twoDays*minute; at -= minute {
			if shows(at) >= w {
				r.Fatalf("at %d, before %d, the wall shows %d already: %d was asked for", at, got, shows(at), w)
			}
		}
	})
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// wall reads a time of a wall clock as ms since 1970-01-01T00:00 on the wall.
func wall(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}
