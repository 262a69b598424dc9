package chaos

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Record is a record as it is to be written.
type Record struct {
	Partition int32
	Key       string
	Value     []byte
}

// What the records are like. Event time runs ahead of the clock, so that many windows close during a run.
const (
	partitions = 4
	tables     = 20
	// eventStep is the event time from one record to the next.
	eventStep = 10 * time.Millisecond
	// disorder is how far a punctual record lies behind its turn at most: less than the streams' watermark delay.
	disorder = 3 * time.Second
	// laggards lie between these behind their turn: some of their windows are closed.
	laggardLeast = 10 * time.Second
	laggardMost  = 60 * time.Second

	// One record in so many …
	oneLaggard  = 80
	oneBad      = 400 // … cannot be read
	oneNaN      = 300
	oneInfinite = 500
	oneNull     = 25 // … has no value, or no whole number
)

// begin is the event time of the first record.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Records makes the records of a seed: always the same, in their order. Each lies in a partition that does not depend on its
// table, so that a group is made of rows of several source tasks.
func Records(seed uint64, count int) []Record {
	const stream = 0x5eed
	r := rand.New(rand.NewPCG(seed, stream))
	out := make([]Record, count)
	for i := range out {
		out[i] = makeRecord(r, i)
	}
	return out
}

func makeRecord(r *rand.Rand, i int) Record {
	table := "t" + strconv.Itoa(r.IntN(tables))
	at := begin.Add(time.Duration(i) * eventStep)
	if r.IntN(oneLaggard) == 0 {
		at = at.Add(-between(r, laggardLeast, laggardMost))
	} else {
		at = at.Add(-time.Duration(r.Int64N(int64(disorder))))
	}
	out := Record{Partition: r.Int32N(partitions), Key: table}
	out.Value = fmt.Appendf(nil, `{"id":%d,"k":%q,"ts":%d,"v":%s,"w":%s}`, i, table, at.UnixMilli(), float(r), whole(r))
	if r.IntN(oneBad) == 0 {
		out.Value = bad(r, i, table)
	}
	return out
}

// float is a member of type float64. Magnitudes differ so much that a sum that is rounded on its way depends on the order.
func float(r *rand.Rand) string {
	switch {
	case r.IntN(oneNaN) == 0:
		return `"NaN"`
	case r.IntN(oneInfinite) == 0:
		return one(r, `"Infinity"`, `"-Infinity"`)
	case r.IntN(oneNull) == 0:
		return "null"
	}
	const spread = 8
	f := (r.Float64() - 0.5) * pow10(r.IntN(spread))
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func pow10(n int) float64 {
	p := 1.0
	for range n {
		p *= 10
	}
	return p
}

// whole is a member of type int64.
func whole(r *rand.Rand) string {
	if r.IntN(oneNull) == 0 {
		return "null"
	}
	return strconv.Itoa(r.IntN(wholes))
}

// wholes bounds the whole numbers: a third of them is below the middle that the streams part them at.
const wholes = 60

// bad is a record that every reader refuses. It has an id all the same.
func bad(r *rand.Rand, i int, table string) []byte {
	return one(r,
		fmt.Appendf(nil, `{"id":%d,"k":%q`, i, table),
		fmt.Appendf(nil, `{"id":%d,"k":%q,"ts":"yesterday","v":1,"w":1}`, i, table),
		fmt.Appendf(nil, `{"id":%d,"k":%q,"ts":%d,"v":"much","w":1}`, i, table, begin.UnixMilli()),
	)
}

// closing makes the last record of each partition: so far ahead that every window before it closes. Its own stay open.
func closing(id int) []Record {
	var out []Record
	for p := range int32(partitions) {
		const table, ahead = "end", 365 * 24 * time.Hour
		out = append(out, Record{Partition: p, Key: table, Value: fmt.Appendf(nil, `{"id":%d,"k":%q,"ts":%d,"v":0,"w":0}`, id+int(p), table, begin.Add(ahead).UnixMilli())})
	}
	return out
}
