package task

import "time"

// rateOver is the span that a rate is measured over: short enough to be "now", long enough not to flicker.
const rateOver = 2 * time.Second

// rate is how fast a count grows. The zero value is ready.
type rate struct {
	count int64
	at    time.Time
	last  float64
}

// over returns the growth a second, measured over at least rateOver.
func (r *rate) over(count int64, now time.Time) float64 {
	if r.at.IsZero() {
		r.count, r.at = count, now
	}
	if d := now.Sub(r.at); d >= rateOver {
		r.last = float64(count-r.count) / d.Seconds()
		r.count, r.at = count, now
	}
	return r.last
}
