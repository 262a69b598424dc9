package task

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/worker/internal/memory"
)

const (
	chained = `"select":[{"expr":"tbname","as":"device"},{"expr":"v"}]`
	edged   = chained + `,"partition_by":["tbname"]`
)

func TestT32_ASlowSinkIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{"chained": chained, "behind an edge": edged} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const rows, perSecond = 30_000, 10_000
				pool := memory.New(256 << 10)
				s := newStage(t, scene{stream: stream, vgroups: 1, partitions: 1, pool: pool})
				for _, o := range s.outlets {
					o.pace = time.Millisecond // 1000/s
				}
				s.start()
				for i := range rows {
					s.record(0, "a", float64(i), i)
					if i%(perSecond/10) == 0 {
						time.Sleep(100 * time.Millisecond)
					}
				}
				polls := -1
				for range 10 {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
					if used := pool.Used(); used > pool.Limit()+slack {
						t.Errorf("%d bytes in use", used)
					}
					if polls == -1 {
						polls = s.kafka.fetches()
					}
				}
				if n := s.kafka.fetches() - polls; n > 5 {
					t.Errorf("the source was fetched %d times in a second of a slow sink", n)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				s.wantWell()
				if n := len(s.results()); n != rows {
					t.Errorf("%d of %d rows were written", n, rows)
				}
			})
		})
	}
}

// slack is what a pool may be overdrawn by in these tests: a flush of the source, a batch a receiver, a chunk a partition.
const slack = 2 << 20

// TestI18_AShutSinkFillsTheNodeAndNoMore: two streams on one node; the sink of one is shut at full input.
func TestI18_AShutSinkFillsTheNodeAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rows = 120_000 // of some 200 bytes: more than credit lets lie in the edge, and the pool hold
		pool := memory.New(2 << 20)
		full := newStage(t, scene{stream: edged, vgroups: 1, partitions: 1, pool: pool})
		other := newStage(t, scene{stream: count10s, vgroups: 4, partitions: 4, pool: pool, bounded: true})
		for i := range rows {
			full.record(0, fmt.Sprintf("device%0150d", i%100), float64(i), i)
			if i%10 == 0 {
				other.record(ident.Partition(i%4), fmt.Sprint("device", i%100), float64(i/1000), i)
			}
		}
		for _, o := range full.outlets {
			o.close()
		}
		full.start()
		var used []int64
		polls := 0
		for i := range 30 {
			time.Sleep(time.Second)
			synctest.Wait()
			if i >= 20 {
				used = append(used, pool.Used())
				if polls == 0 {
					polls = full.kafka.fetches()
				}
			}
		}
		for _, u := range used {
			if u > pool.Limit()+slack || u != used[0] {
				t.Errorf("bytes in use while the sink is shut: %v", used)
				break
			}
		}
		if full.kafka.fetches() != polls {
			t.Errorf("the source was fetched %d times more", full.kafka.fetches()-polls)
		}
		lag := int64(0)
		for _, src := range full.sources {
			for _, p := range src.Report().Progress.Partitions {
				lag += int64(p.End - p.Next)
			}
		}
		if lag == 0 {
			t.Error("everything was read: the pool does not hold the sources back")
		}
		// One hanging sink is one stream's problem (T33): the other stream still comes to its end, one block at a time.
		other.start()
		other.wantFinished()
		if n := other.counters().Counted; n != rows/10 {
			t.Errorf("the other stream has counted %d", n)
		}
		for _, o := range full.outlets {
			o.open()
		}
		for len(full.results()) < rows {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if time.Since(time.Unix(946684800, 0)) > time.Hour { // bubbles begin in the year 2000
				t.Fatalf("%d of %d rows came out: %s", len(full.results()), rows, full.describe())
			}
		}
		full.wantWell()
		if n := len(full.results()); n != rows {
			t.Errorf("%d of %d rows came out", n, rows)
		}
		for name, r := range full.reports() {
			if r.State != task.Ready {
				t.Errorf("%s is %s", name, r.State)
			}
		}
		full.end()
		other.end()
		if n := pool.Used(); n != 0 {
			t.Errorf("%d bytes are in use after the end", n)
		}
	})
}

// TestI18_BrokersThatDoNotAnswerFillTheNodeAndNoMore: what credit would let a source send does not fit into the node.
func TestI18_BrokersThatDoNotAnswerFillTheNodeAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rows = 40_000 // of some 200 bytes
		pool := memory.New(1 << 20)
		s := newStage(t, scene{stream: edged, vgroups: 2, partitions: 1, pool: pool})
		s.kafka.set(func(c *cluster) {
			c.broken = func(string, ident.Partition, kafka.Message) error { return &kafka.Error{Code: kafka.CodeUnreachable} }
		})
		for i := range rows {
			s.record(0, fmt.Sprintf("device%0150d", i%100), float64(i), i)
		}
		s.start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if used := pool.Used(); used > pool.Limit()+slack {
			t.Errorf("%d bytes are in use", used)
		}
		s.kafka.set(func(c *cluster) { c.broken = nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		s.wantWell()
		if n := len(s.results()); n != rows {
			t.Errorf("%d of %d rows came out", n, rows)
		}
	})
}

func TestAChunkThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	released := 0
	chunk := func() *kafka.Chunk { return kafka.NewChunk(kafka.ChunkSpec{Release: func() { released++ }}) }
	in := newInbox()
	p := in.port()
	if !p.Offer(chunk()) || p.Offer(chunk()) {
		t.Error("an inbox of two takes another one, or does not take the first")
	}
	in.end()
	if p.Offer(chunk()) || released != 3 {
		t.Errorf("%d of 3 chunks were given back", released)
	}
}
