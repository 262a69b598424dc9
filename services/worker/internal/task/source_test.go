package task

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const count10s = `"select":[{"expr":"tbname","as":"device"},{"expr":"_wstart","as":"start"},{"expr":"count(*)","as":"n"}],
	"partition_by":["tbname"],"window":{"kind":"interval","size":"10s"},"watermark":"0s"`

// row is a result of count10s.
func row(device string, start, n int) string {
	return fmt.Sprintf(`{"device":%q,"start":"%s","n":"%d"}`, device, time.UnixMilli(int64(start)*1000).UTC().Format("2006-01-02T15:04:05.000Z"), n)
}

// permutations lists the orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

func TestT06_OneLateRowDoesNotTakeItsNeighboursAlong(t *testing.T) {
	t.Parallel()
	for _, order := range permutations(3) {
		for chunk := 1; chunk <= 4; chunk++ {
			t.Run(fmt.Sprintf("%v by %d", order, chunk), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t, scene{stream: count10s, vgroups: 2, partitions: 1, bounded: true})
					s.kafka.set(func(c *cluster) { c.chunk = chunk })
					s.record(0, "a", 20, 0)
					late := ""
					for i, n := range order {
						ts := []float64{5, 21, 22}[n]
						if n == 0 {
							late = fmt.Sprintf("late readings/0@%d", i+1+i)
						}
						s.record(0, "a", ts, 0)
						s.record(0, "b", 21, 0) // a neighbour of another table
					}
					s.start()
					s.wantFinished()
					wantLines(t, "results", s.results(), []string{row("a", 20, 3), row("b", 20, 3)})
					wantLines(t, "set aside", s.aside.sorted(), []string{late})
					if c := s.counters(); c != (Counters{Counted: 6, Late: 1}) {
						t.Errorf("counters %+v", c)
					}
				})
			})
		}
	}
}
