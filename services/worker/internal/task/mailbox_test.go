package task

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
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

func TestOfCreditsOnlyTheNewestOfADestinationIsKept(t *testing.T) {
	t.Parallel()
	m := newCredits()
	task := func(vg ident.VGroup) ident.Task { return ident.Task{Level: ident.LevelAgg, VGroup: vg} }
	for i := range ident.MsgID(1000) {
		m.put(dispatch.Credited{Entry: dispatch.CreditEntry{Task: task(0), Consumed: i}})
		m.put(dispatch.Credited{Entry: dispatch.CreditEntry{Task: task(1), Consumed: i}})
	}
	got := m.take()
	if len(got) != 2 || got[0].Entry.Consumed != 999 || got[1].Entry.Consumed != 999 {
		t.Fatalf("kept %v", got)
	}
}

func TestANoticeIsNotReplaced(t *testing.T) {
	t.Parallel()
	m := newCredits()
	m.put(dispatch.Credited{Entry: dispatch.CreditEntry{Notice: dispatch.NoticeNoSuchTask}})
	for i := range ident.MsgID(3) {
		m.put(dispatch.Credited{Entry: dispatch.CreditEntry{Consumed: i}})
	}
	got := m.take()
	if len(got) != 2 || got[0].Entry.Notice != dispatch.NoticeNoSuchTask || got[1].Entry.Consumed != 2 {
		t.Fatalf("kept %v", got)
	}
}
