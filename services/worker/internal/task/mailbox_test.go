package task

import (
	"runtime"
	"strconv"
	"sync"
	"testing"
)

func TestT40_NoWakeUpIsLost(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const producers, each = 4, 20_000
			m := newMailbox[int]()
			var wg sync.WaitGroup
			for range producers {
				wg.Go(func() {
					for i := range each {
						m.put(i)
					}
				})
			}
			got := 0
			for got < producers*each {
				<-m.notice
				got += len(m.take())
			}
			wg.Wait()
			if rest := m.take(); len(rest) != 0 {
				t.Fatalf("%d values too many", len(rest))
			}
		})
	}
}
