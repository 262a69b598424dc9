package live

import (
	"sync"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// RingBytes bounds what is kept of one stream's vgroup, in bytes of its columns. A few seconds of a busy stream.
const RingBytes = 1 << 20

// Memory is what the rings of all streams of a node may hold together. Where it is used up a ring keeps what it has
// place for, at the worst nothing: who watches is told how much was lost.
type Memory interface {
	TryTake(bytes int64) bool
	Give(bytes int64)
}

// Feed is the live results of one stream on this node.
type Feed struct {
	memory Memory

	mu       sync.Mutex
	stage    ident.Stage
	complete ident.CheckpointID // results from before it stay
	rings    []ring
	changed  chan struct{} // closed and replaced at every change
	ended    bool
}

// ring is the last results of one vgroup.
type ring struct {
	entries []entry
	bytes   int
	next    uint64             // sequence of the next row
	passed  ident.CheckpointID // the last trigger before what comes now
}

// entry is a batch and the sequence of its first row.
type entry struct {
	first uint64
	rows  *block.Batch
	bytes int
	after ident.CheckpointID // the last trigger before it
}

// NewFeed returns the feed of a stream in a stage, with V vgroups, bounded by RingBytes alone.
func NewFeed(stage ident.Stage, vgroups int) *Feed {
	return &Feed{memory: unbounded{}, stage: stage, rings: make([]ring, vgroups), changed: make(chan struct{})}
}

// Within has the rings stay within the node's share, too. To be called before the first Publish.
func (f *Feed) Within(m Memory) *Feed {
	f.memory = m
	return f
}

// From says which checkpoint the stage has restored. To be called before the first Publish.
func (f *Feed) From(c ident.CheckpointID) *Feed {
	f.complete = c
	for i := range f.rings {
		f.rings[i].passed = c
	}
	return f
}

// Passed says that a checkpoint's trigger has passed the task of a vgroup: what it publishes from now on comes after.
func (f *Feed) Passed(vg ident.VGroup, c ident.CheckpointID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rings[vg].passed = c
}

// Complete says that a checkpoint is complete: no recovery gives the results from before its trigger again.
func (f *Feed) Complete(c ident.CheckpointID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c <= f.complete || f.ended {
		return
	}
	f.complete = c
	f.announce()
}

// Completed is the newest complete checkpoint; 0: there is none.
func (f *Feed) Completed() ident.CheckpointID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.complete
}

// unbounded is memory that nobody counts.
type unbounded struct{}

func (unbounded) TryTake(int64) bool { return true }
func (unbounded) Give(int64)         {}

// Publish appends the results of a vgroup. The batch must not be changed afterwards.
func (f *Feed) Publish(vg ident.VGroup, rows *block.Batch) {
	n := rows.Rows()
	if n == 0 {
		return
	}
	size := rows.MemBytes()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	r := &f.rings[vg]
	first := r.next
	r.next += uint64(n)
	for r.bytes+size > RingBytes && len(r.entries) > 0 {
		f.drop(r)
	}
	taken := f.memory.TryTake(int64(size))
	for !taken && len(r.entries) > 0 { // at the expense of its own past only
		f.drop(r)
		taken = f.memory.TryTake(int64(size))
	}
	if taken {
		r.entries = append(r.entries, entry{first: first, rows: rows, bytes: size, after: r.passed})
		r.bytes += size
	}
	f.announce()
}

// drop forgets the oldest batch of a ring.
func (f *Feed) drop(r *ring) {
	gone := r.entries[0].bytes
	r.entries[0] = entry{}
	r.entries = r.entries[1:]
	r.bytes -= gone
	f.memory.Give(int64(gone))
}

func (f *Feed) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Close says that the stage is over and forgets its results: watchers find the next one's feed.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for i := range f.rings {
		for len(f.rings[i].entries) > 0 {
			f.drop(&f.rings[i])
		}
	}
	f.announce()
}

// Closed tells whether the stage is over.
func (f *Feed) Closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// Position is a watcher's place: the stage, and per vgroup the next sequence it wants.
type Position struct {
	Stage ident.Stage
	Next  []uint64
}

// End returns the position behind all results so far.
func (f *Feed) End() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := Position{Stage: f.stage, Next: make([]uint64, len(f.rings))}
	for i := range f.rings {
		p.Next[i] = f.rings[i].next
	}
	return p
}

// Rows is a run of results of one vgroup: rows [From, To) of the batch, which came after a checkpoint's trigger and before
// the next one's.
type Rows struct {
	VGroup   ident.VGroup
	After    ident.CheckpointID
	Batch    *block.Batch
	From, To int
}

// Read returns what lies behind the position and moves it there. lost counts results that are gone, and is −1 when the
// position is of another stage or shape: it then moves to the oldest result kept. wait is closed when there is more.
func (f *Feed) Read(p *Position) (out []Rows, lost int64, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.Stage != f.stage || len(p.Next) != len(f.rings) {
		*p = Position{Stage: f.stage, Next: make([]uint64, len(f.rings))}
		for i := range f.rings {
			p.Next[i] = f.rings[i].oldest()
		}
		lost = -1
	}
	for i := range f.rings {
		r := &f.rings[i]
		if oldest := r.oldest(); p.Next[i] < oldest {
			if lost >= 0 {
				lost += int64(oldest - p.Next[i])
			}
			p.Next[i] = oldest
		}
		for _, e := range r.entries {
			end := e.first + uint64(e.rows.Rows())
			if p.Next[i] >= end {
				continue
			}
			out = append(out, Rows{VGroup: ident.VGroup(i), After: e.after, Batch: e.rows, From: int(p.Next[i] - e.first), To: e.rows.Rows()})
			p.Next[i] = end
		}
	}
	return out, lost, f.changed
}

func (r *ring) oldest() uint64 {
	if len(r.entries) == 0 {
		return r.next
	}
	return r.entries[0].first
}
