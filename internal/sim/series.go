package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Failure is a seed that did not hold.
type Failure struct {
	Seed uint64
	Why  string
}

// String is the line that keeps it (testdata/seeds).
func (f Failure) String() string {
	return fmt.Sprintf("%d %s", f.Seed, strings.ReplaceAll(f.Why, "\n", "; "))
}

// Series is what a series of seeds has come to.
type Series struct {
	Outcome            // the sums
	Failures []Failure // by seed
}

// RunSeries runs seeds from the first one on, on all processors.
func RunSeries(first, seeds uint64) Series {
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := Series{Outcome: Outcome{Reached: map[Reach]int{}}}
	next, end := first, first+seeds
	take := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next-1 < end
	}
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				o, err := Run(seed, nil)
				mu.Lock()
				sum.add(seed, o, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.SortFunc(sum.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	return sum
}

func (s *Series) add(seed uint64, o Outcome, err error) {
	if err != nil {
		s.Failures = append(s.Failures, Failure{seed, err.Error()})
		return
	}
	if !o.Holds() {
		s.Failures = append(s.Failures, Failure{seed, o.String()})
	}
	s.Results += o.Results
	s.Stages += o.Stages
	s.Terms += o.Terms
	s.Complete += o.Complete
	s.Failed += o.Failed
	for r, n := range o.Reached {
		s.Reached[r] += n
	}
}
