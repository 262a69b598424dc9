package sink

import (
	"slices"
	"sync"

	"github.com/pondage/pondage/internal/ident"
)

// images decides until when an upserting output keeps what its rows were before: for each checkpoint that the coordinator's
// retention keeps. The output does not hear of every one that is complete, a newer one covers those meanwhile; so it counts
// those that it has heard of, and keeps rather too much.
type images struct {
	keep int // complete checkpoints

	mu        sync.Mutex
	newest    []ident.CheckpointID // complete ones, rising; at most keep
	last      ident.CheckpointID   // interval of the newest write
	forgotten ident.CheckpointID   // nothing older is kept; 0: not known
}

// newImages begins with the restored checkpoint, which is one of those that are kept; 0: there is none.
func newImages(restored ident.CheckpointID, keep int) *images {
	i := &images{keep: max(1, keep), last: restored}
	if restored > 0 {
		i.newest = append(i.newest, restored)
	}
	return i
}

// complete hears of a complete checkpoint. It returns the oldest that is kept where there may be something to forget.
func (i *images) complete(c ident.CheckpointID) (oldest ident.CheckpointID, due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.newest); n == 0 || i.newest[n-1] < c {
		i.newest = append(i.newest, c)
	}
	i.newest = slices.Delete(i.newest, 0, max(0, len(i.newest)-i.keep))
	oldest = i.newest[0]
	// Without a write since, nothing has been kept that could be forgotten.
	return oldest, len(i.newest) == i.keep && oldest > i.forgotten && i.last >= i.forgotten
}

// forgot notes that nothing from before a checkpoint is kept.
func (i *images) forgot(before ident.CheckpointID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgotten = before
}

// wrote notes a write of an interval.
func (i *images) wrote(cp ident.CheckpointID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = cp
}
