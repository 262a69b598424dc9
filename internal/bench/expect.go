package bench

// window is what a result is about.
type window struct {
	device  string
	startMs int64
}

// total is a result before its rounding: temperatures in hundredths of a degree, so that sums are exact.
type total struct {
	count, sum, min, max int64
}

// expect computes every result of the query over all records, in the plainest way: each record is added to each window
// that holds it, and nothing is ever late.
func expect(r Records, q Query) map[window]total {
	size, step := q.Size.Milliseconds(), q.Step.Milliseconds()
	names := make([]string, r.Devices)
	for i := range names {
		names[i] = string(appendDevice(nil, uint64(i)))
	}
	totals := map[window]total{}
	for i := range r.Count {
		x := r.at(i)
		last := x.timeMs - x.timeMs%step // event times are positive
		for start := last; start > x.timeMs-size; start -= step {
			w := window{device: names[x.device], startMs: start}
			t, ok := totals[w]
			if !ok {
				t.min, t.max = x.temp, x.temp
			}
			t.count++
			t.sum += x.temp
			t.min, t.max = min(t.min, x.temp), max(t.max, x.temp)
			totals[w] = t
		}
	}
	return totals
}
