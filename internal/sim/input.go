package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/pondage/pondage/internal/pipeline"
)

// input is the records, and what has to be counted of them.
type input struct {
	records [partitions][][]byte
	rows    []row // that count, of all partitions
	counts  [partitions]pipeline.Counters
}

// row is a record that counts.
type row struct {
	table string
	ts    int64
	value float64
}

// makeInput writes up to two hundred readings of a few tables to each partition, up to a second out of order. Some are
// filtered, some are no readings; now and then a partition has none.
func makeInput(r *rand.Rand) input {
	const most, tables, stepMs, disorderMs = 200, 5, 400, 900
	var in input
	for p := range in.records {
		n := 1 + r.IntN(most)
		if p > 0 && r.IntN(10) == 0 {
			n = 0
		}
		for i := range n {
			if r.IntN(40) == 0 {
				in.records[p] = append(in.records[p], []byte(`{"k":"t1","ts":"yesterday","v":1}`))
				in.counts[p].DeadLettered++
				continue
			}
			// Sums of such values depend on every bit.
			value := float64(r.IntN(1<<20)) * []float64{1, 1e12, 1e-9}[r.IntN(3)]
			x := row{fmt.Sprintf("t%d", r.IntN(tables)), int64(1_000_000 + i*stepMs - r.IntN(disorderMs)), value}
			if r.IntN(10) == 0 {
				x.value = -1 - x.value
				in.counts[p].Filtered++
			} else {
				in.counts[p].Counted++
				in.rows = append(in.rows, x)
			}
			in.records[p] = append(in.records[p], fmt.Appendf(nil, `{"k":%q,"ts":%d,"v":%g}`, x.table, x.ts, x.value))
		}
	}
	return in
}
