package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// generator writes records at a steady rate, and knows from its own writes what the results have to be and when the
// watermark allowed them.
type generator struct {
	live   Live
	names  []string
	totals map[window]total
	behind time.Duration // the most that a record was sent behind its turn

	mu sync.Mutex
	// acked is, of each window's end, the moment that a partition's first record that lets the watermark pass it was
	// acknowledged, a moment a partition. The watermark is the lowest of all partitions: it passes with the last of them.
	acked map[int64]map[int]time.Time
	next  []int64 // of each partition: the lowest end that it does not allow
	err   error   // of a write
}

func newGenerator(l Live) *generator {
	g := &generator{live: l, totals: map[window]total{}, acked: map[int64]map[int]time.Time{}, next: make([]int64, l.Partitions)}
	for i := range l.Devices {
		g.names = append(g.names, string(appendDevice(nil, i)))
	}
	return g
}

// run writes the records; it returns when all are acknowledged.
func (g *generator) run(ctx context.Context, client *kafka.Client, topic string) error {
	producer := kafka.NewProducer(client)
	defer producer.Close()
	queues, done := make([]*kafka.Queue, g.live.Partitions), make([]func(kafka.Result), g.live.Partitions)
	for p := range queues {
		q, err := producer.Open(ctx, topic, ident.Partition(p), kafka.QueueOptions{})
		if err != nil {
			return err
		}
		queues[p], done[p] = q, func(r kafka.Result) { g.acknowledged(p, int64(r.Tag), r.Err) }
	}
	began := time.Now()
	records := Records{Devices: g.live.Devices, Step: time.Microsecond}
	first := windowOf(began.UnixMilli()) + live().Size.Milliseconds()
	for p := range g.next {
		g.next[p] = first
	}
	var key, value []byte
	for i := range int64(g.live.Rate * g.live.Duration.Seconds()) {
		turn := began.Add(time.Duration(float64(i) / g.live.Rate * float64(time.Second)))
		if ahead := time.Until(turn); ahead > 0 {
			time.Sleep(max(ahead, pace))
		} else {
			g.behind = max(g.behind, -ahead-pace)
		}
		x := records.at(i)
		x.timeMs = turn.UnixMilli()
		g.count(x)
		key, value = appendDevice(key[:0], x.device), x.appendValue(value[:0])
		p := partitionOf(key, g.live.Partitions)
		if err := queues[p].Send(ctx, kafka.Message{Key: key, Value: value, Tag: uint64(x.timeMs), Done: done[p]}); err != nil {
			return err
		}
	}
	for _, q := range queues {
		if err := q.Flush(ctx); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// pace is the shortest pause: the records of a millisecond are written together.
const pace = time.Millisecond

// windowOf is the start of the window that holds a time.
func windowOf(ms int64) int64 { return ms - ms%live().Size.Milliseconds() }

// count adds a record to the result that it belongs to.
func (g *generator) count(x record) {
	w := window{device: g.names[x.device], startMs: windowOf(x.timeMs)}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.totals[w]
	if !ok {
		t.min, t.max = x.temp, x.temp
	}
	g.totals[w] = total{t.count + 1, t.sum + x.temp, min(t.min, x.temp), max(t.max, x.temp)}
}

// acknowledged hears of a record of a partition, in the order of the partition.
func (g *generator) acknowledged(partition int, eventMs int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.err = fmt.Errorf("write a record: %w", err)
		return
	}
	for g.next[partition]+watermarkDelay.Milliseconds() <= eventMs {
		end := g.next[partition]
		if g.acked[end] == nil {
			g.acked[end] = map[int]time.Time{}
		}
		g.acked[end][partition] = time.Now()
		g.next[partition] += live().Size.Milliseconds()
	}
}

// allowedAt is when the watermark allowed the windows of an end; false: it has not.
func (g *generator) allowedAt(end int64) (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.acked[end]) < g.live.Partitions {
		return time.Time{}, false
	}
	return slices.MaxFunc(slices.Collect(maps.Values(g.acked[end])), time.Time.Compare), true
}

// allowedEnds are the ends of all windows that the watermark has allowed, sorted.
func (g *generator) allowedEnds() []int64 {
	g.mu.Lock()
	ends := slices.Sorted(maps.Keys(g.acked))
	g.mu.Unlock()
	return slices.DeleteFunc(ends, func(end int64) bool { _, ok := g.allowedAt(end); return !ok })
}

// rowsOf is how many results the windows of an end have.
func (g *generator) rowsOf(end int64) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, name := range g.names {
		if _, ok := g.totals[window{device: name, startMs: end - live().Size.Milliseconds()}]; ok {
			n++
		}
	}
	return n
}
