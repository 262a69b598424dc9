package batch

import "time"

// Tumbling windows follow each other from the epoch on.
type Tumbling struct{ Size time.Duration }

// Spans implements Window.
func (w Tumbling) Spans(at time.Time) []Span { return Sliding{w.Size, w.Size}.Spans(at) }

// Sliding windows begin every Step, counted from the epoch.
type Sliding struct{ Size, Step time.Duration }

// Spans implements Window.
func (w Sliding) Spans(at time.Time) []Span {
	step := w.Step.Milliseconds()
	ms := at.UnixMilli()
	start := ms - ((ms%step)+step)%step // rounded down, also before the epoch
	var spans []Span
	for ; start+w.Size.Milliseconds() > ms; start -= step {
		from := time.UnixMilli(start).UTC()
		spans = append(spans, Span{from, from.Add(w.Size)})
	}
	return spans
}

// Days are the calendar days of a zone.
type Days struct{ Zone *time.Location }

// Spans implements Window.
func (w Days) Spans(at time.Time) []Span {
	y, m, d := at.In(w.Zone).Date()
	return []Span{{firstInstant(y, m, d, w.Zone), firstInstant(y, m, d+1, w.Zone)}}
}

// Months are the calendar months of a zone.
type Months struct{ Zone *time.Location }

// Spans implements Window.
func (w Months) Spans(at time.Time) []Span {
	y, m, _ := at.In(w.Zone).Date()
	return []Span{{firstInstant(y, m, 1, w.Zone), firstInstant(y, m+1, 1, w.Zone)}}
}

// firstInstant is where a local date begins. From noon, which exists on every day, it goes back minute by minute: what
// the library makes of a midnight that does not exist is of no interest then.
func firstInstant(y int, m time.Month, d int, zone *time.Location) time.Time {
	const noon = 12
	at := time.Date(y, m, d, noon, 0, 0, 0, zone)
	y, m, d = at.Date()
	for {
		before := at.Add(-time.Minute)
		if by, bm, bd := before.Date(); by != y || bm != m || bd != d {
			return at.UTC()
		}
		at = before
	}
}

// Cached remembers the windows of every minute that was asked for: walking to the start of a day is slow. The windows of w
// begin and end on whole minutes.
func Cached(w Window) Window { return &cached{of: w, spans: map[int64][]Span{}} }

type cached struct {
	of    Window
	spans map[int64][]Span // by minute since the epoch
}

func (c *cached) Spans(at time.Time) []Span {
	minute := at.Truncate(time.Minute)
	spans, ok := c.spans[minute.Unix()]
	if !ok {
		spans = c.of.Spans(minute)
		c.spans[minute.Unix()] = spans
	}
	return spans
}
