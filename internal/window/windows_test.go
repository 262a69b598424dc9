package window

import (
	"errors"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zone rules are part of the binary

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

var (
	berlin   = mustZone("Europe/Berlin")
	newYork  = mustZone("America/New_York")
	santiago = mustZone("America/Santiago")
	cairo    = mustZone("Africa/Cairo")
)

func mustZone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}

// at parses an RFC 3339 time.
func at(s string) ident.EventMs {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return ident.EventMs(t.UnixMilli())
}

func text(ts ident.EventMs) string { return time.UnixMilli(int64(ts)).UTC().Format(time.RFC3339) }

// only returns the one window that holds ts.
func only(t *testing.T, w *Windows, ts ident.EventMs) (start, end string) {
	t.Helper()
	starts := w.AppendStarts(nil, ts)
	if len(starts) != 1 {
		t.Fatalf("%s lies in %d windows, want 1", text(ts), len(starts))
	}
	return text(starts[0]), text(w.End(starts[0]))
}

func TestT01_ALocalDayHas23Or25Hours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone           *time.Location
		in, start, end string
		rows           int // one every 30 minutes
	}{
		{berlin, "2024-03-31T12:00:00Z", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z", 46},
		{berlin, "2024-10-27T12:00:00Z", "2024-10-26T22:00:00Z", "2024-10-27T23:00:00Z", 50},
		{santiago, "2024-09-08T12:00:00Z", "2024-09-08T04:00:00Z", "2024-09-09T03:00:00Z", 46},
		{santiago, "2024-09-08T03:59:59Z", "2024-09-07T04:00:00Z", "2024-09-08T04:00:00Z", 48},
		{cairo, "2024-04-26T12:00:00Z", "2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z", 46},
		{newYork, "2013-03-10T12:00:00Z", "2013-03-10T05:00:00Z", "2013-03-11T04:00:00Z", 46},
		{newYork, "2013-11-03T12:00:00Z", "2013-11-03T04:00:00Z", "2013-11-04T05:00:00Z", 50},
	} {
		w := mustWindows(t, Spec{Size: Length{1, UnitDay}, Zone: c.zone})
		start, end := only(t, w, at(c.in))
		if start != c.start || end != c.end {
			t.Errorf("%s in %s: day is [%s, %s), want [%s, %s)", c.in, c.zone, start, end, c.start, c.end)
		}
		rows := 0
		for ts := at(c.in) - 3*dayMs; ts < at(c.in)+3*dayMs; ts += 30 * 60 * 1000 {
			if s, _ := only(t, w, ts/1800000*1800000); s == c.start {
				rows++
			}
		}
		if rows != c.rows {
			t.Errorf("day of %s in %s has %d half hours, want %d", c.in, c.zone, rows, c.rows)
		}
	}
}

// TestCalendarWindowsTileTime checks, over decades and zones with odd rules, that panes neither overlap nor leave holes
// and begin when the wall clock first shows their date.
func TestCalendarWindowsTileTime(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{berlin, newYork, santiago, cairo, mustZone("Asia/Tehran"), mustZone("Pacific/Apia"), mustZone("America/St_Johns"),
		mustZone("America/Havana"), mustZone("America/Sao_Paulo"), mustZone("Australia/Lord_Howe"), mustZone("Asia/Kathmandu"), time.FixedZone("", -5*3600), time.UTC}
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Size: Length{rapid.Int64Range(1, 4).Draw(t, "n"), rapid.SampledFrom([]Unit{UnitDay, UnitWeek, UnitMonth, UnitYear}).Draw(t, "unit")},
			Zone: rapid.SampledFrom(zones).Draw(t, "zone"), WeekStart: WeekStart(rapid.IntRange(0, 6).Draw(t, "week start"))}
		spec.Offset = Length{rapid.Int64Range(-30, 30).Draw(t, "offset"), rapid.SampledFrom([]Unit{UnitHour, UnitMinute}).Draw(t, "offset unit")}
		w := mustWindows(t, spec)
		ts := ident.EventMs(rapid.Int64Range(int64(at("1901-01-01T00:00:00Z")), int64(at("2090-01-01T00:00:00Z"))).Draw(t, "ts"))
		lo := w.Pane(ts)
		hi := w.End(lo)
		if lo > ts || ts >= hi {
			t.Fatalf("pane [%s, %s) does not hold %s", text(lo), text(hi), text(ts))
		}
		fresh := mustWindows(t, spec) // nothing remembered
		if fresh.Pane(lo) != lo || fresh.Pane(hi-1) != lo || fresh.Pane(hi) != hi || fresh.Pane(lo-1) >= lo || w.Next(lo) != hi {
			t.Fatalf("pane [%s, %s) overlaps or leaves a hole", text(lo), text(hi))
		}
		if starts := fresh.AppendStarts(nil, ts); !slices.Equal(starts, []ident.EventMs{lo}) {
			t.Fatalf("windows of %s start at %v, want %d", text(ts), starts, lo)
		}
	})
}

func TestT02_JustBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	w := mustWindows(t, Spec{Size: Length{10, UnitSecond}})
	counts := map[ident.EventMs]int{}
	for _, ts := range []ident.EventMs{-10_001, -10_000, -1, 0} {
		counts[w.Pane(ts)]++
		for _, s := range mustWindows(t, Spec{Size: Length{10, UnitSecond}}).AppendStarts(nil, ts) {
			if s != w.Pane(ts) || w.End(s) != s+10_000 {
				t.Errorf("row at %d: window [%d, %d), pane %d", ts, s, w.End(s), w.Pane(ts))
			}
		}
	}
	if counts[-20_000] != 1 || counts[-10_000] != 2 || counts[0] != 1 {
		t.Errorf("counts %v, want 1, 2, 1 at -20s, -10s, 0", counts)
	}
}

func TestT03_OneWeekByDays(t *testing.T) {
	t.Parallel()
	w := mustWindows(t, Spec{Size: Length{1, UnitWeek}, Slide: Length{1, UnitDay}, Zone: berlin})
	ts := at("2024-10-27T00:30:00Z")
	want := []string{"2024-10-20T22:00:00Z", "2024-10-21T22:00:00Z", "2024-10-22T22:00:00Z", "2024-10-23T22:00:00Z", "2024-10-24T22:00:00Z", "2024-10-25T22:00:00Z", "2024-10-26T22:00:00Z"}
	var got []string
	for _, s := range w.AppendStarts(nil, ts) {
		got = append(got, text(s))
	}
	if !slices.Equal(got, want) {
		t.Errorf("windows start at %v, want %v", got, want)
	}
	if text(w.Pane(ts)) != "2024-10-26T22:00:00Z" || text(w.LastEnd(ts)) != "2024-11-02T23:00:00Z" {
		t.Errorf("pane %s, last end %s", text(w.Pane(ts)), text(w.LastEnd(ts)))
	}
}

func TestWeeksStartOnMondayUnlessTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first WeekStart
		zone  *time.Location
		want  string
	}{
		{WeekStartMonday, nil, "2024-10-21T00:00:00Z"},
		{WeekStartMonday, berlin, "2024-10-20T22:00:00Z"},
		{WeekStartSunday, nil, "2024-10-20T00:00:00Z"},
		{WeekStartThursday, berlin, "2024-10-23T22:00:00Z"},
	} {
		w := mustWindows(t, Spec{Size: Length{1, UnitWeek}, Zone: c.zone, WeekStart: c.first})
		if start, _ := only(t, w, at("2024-10-24T12:00:00Z")); start != c.want {
			t.Errorf("week from %d in %v starts at %s, want %s", c.first, c.zone, start, c.want)
		}
	}
}

func TestMonthsAndYearsCountFromJanuary1970(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec           Spec
		in, start, end string
	}{
		{Spec{Size: Length{1, UnitMonth}}, "2024-02-10T00:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{Spec{Size: Length{5, UnitMonth}}, "1970-06-01T00:00:00Z", "1970-06-01T00:00:00Z", "1970-11-01T00:00:00Z"},
		{Spec{Size: Length{5, UnitMonth}}, "1969-12-31T23:59:59Z", "1969-08-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{Spec{Size: Length{3, UnitYear}}, "1975-05-05T00:00:00Z", "1973-01-01T00:00:00Z", "1976-01-01T00:00:00Z"},
		{Spec{Size: Length{1, UnitYear}, Offset: Length{3, UnitMonth}}, "2024-03-31T00:00:00Z", "2023-04-01T00:00:00Z", "2024-04-01T00:00:00Z"},
		{Spec{Size: Length{1, UnitDay}, Offset: Length{6, UnitHour}, Zone: berlin}, "2024-03-31T04:30:00Z", "2024-03-31T04:00:00Z", "2024-04-01T04:00:00Z"},
		{Spec{Size: Length{1, UnitDay}, Offset: Length{6, UnitHour}, Zone: berlin}, "2024-03-31T03:30:00Z", "2024-03-30T05:00:00Z", "2024-03-31T04:00:00Z"},
	} {
		start, end := only(t, mustWindows(t, c.spec), at(c.in))
		if start != c.start || end != c.end {
			t.Errorf("%s by %s, offset %s: [%s, %s), want [%s, %s)", c.in, c.spec.Size, c.spec.Offset, start, end, c.start, c.end)
		}
	}
}

func TestT05_EdgesOfASlidingWindow(t *testing.T) {
	t.Parallel()
	spec := Spec{Size: Length{10, UnitSecond}, Slide: Length{2, UnitSecond}}
	w := mustWindows(t, spec)
	for ts, first := range map[ident.EventMs]ident.EventMs{0: -8000, 9999: 0, 10_000: 2000} {
		starts := w.AppendStarts(nil, ts)
		if len(starts) != 5 || starts[0] != first || starts[4] != first+8000 || w.LastEnd(ts) != first+18_000 {
			t.Errorf("row at %d lies in windows %v, want 5 from %d; last end %d", ts, starts, first, w.LastEnd(ts))
		}
	}
	state := newTestState(t, spec, EmitOnClose, 0)
	source := preAgg(t, spec)
	source.Add(columnsOf([]row{{ts: 0, openFrom: fromAll}, {ts: 9999, openFrom: fromAll}, {ts: 10_000, openFrom: fromAll}}))
	source.Flush(func(_ ident.VGroup, b *block.Batch) {
		if err := state.Merge(b); err != nil {
			t.Fatal(err)
		}
	})
	got := results{}
	for now := ident.EventMs(-10_000); now <= 30_000; now += 500 {
		state.Advance(now, func(e *Emission) { got.take(t, e) })
		kept := 0
		for _, pane := range []ident.EventMs{0, 8000, 10_000} {
			if now < pane+10_000 { // the end of the last window that holds it
				kept++
			}
		}
		if st := state.Stats(); st.Panes != kept || st.Cells != kept {
			t.Fatalf("watermark %d: %d panes and %d cells kept, want %d", now, st.Panes, st.Cells, kept)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d windows emitted, want 10: %v", len(got), got)
	}
}

func TestImpossibleWindowsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want error
	}{
		{Spec{}, ErrLength},
		{Spec{Size: Length{-1, UnitSecond}}, ErrLength},
		{Spec{Size: Length{1 << 62, UnitYear}}, ErrLength},
		{Spec{Size: Length{1, UnitDay}, Slide: Length{-1, UnitDay}}, ErrLength},
		{Spec{Size: Length{1, UnitMonth}, Slide: Length{1, UnitDay}}, ErrScale},
		{Spec{Size: Length{1, UnitDay}, Slide: Length{1, UnitHour}, Zone: berlin}, ErrScale},
		{Spec{Size: Length{1, UnitDay}, Offset: Length{1, UnitMonth}}, ErrOffset},
	} {
		if _, err := NewWindows(c.spec); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.spec, err, c.want)
		}
	}
	if _, err := NewWindows(Spec{Size: Length{1, UnitDay}, Slide: Length{1, UnitHour}}); err != nil {
		t.Errorf("a day by hours in UTC: %v", err)
	}
}

func TestPassesEndMeansAWindowClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]Spec{testSpecs["tumbling, offset"], testSpecs["sliding, gcd"], testSpecs["gaps"], testSpecs["weeks by days"]}).Draw(t, "spec")
		w, unit := mustWindows(t, spec), scaleOf(spec)
		before := ident.EventMs(rapid.Int64Range(-60, 60).Draw(t, "before") * unit)
		now := before + ident.EventMs(rapid.Int64Range(-1, 30).Draw(t, "step")*unit)
		want := false
		for ts := before - ident.EventMs(60*unit); ts <= now; ts += ident.EventMs(unit) {
			for _, s := range w.AppendStarts(nil, ts) {
				want = want || w.End(s) > before && w.End(s) <= now
			}
		}
		if got := w.PassesEnd(before, now); got != want {
			t.Fatalf("PassesEnd(%d, %d) = %v, want %v", before, now, got, want)
		}
	})
}
