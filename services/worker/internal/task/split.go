package task

import "github.com/pondage/pondage/internal/block"

// pieceBytes is how large a batch may be that leaves a source task, in memory: a block is at most that before
// compression (DESIGN §4), and what an output takes at a time is bounded in the same way.
const pieceBytes = 1 << 20

// split gives out a batch in pieces of at most about pieceBytes, in order. A single row may be larger. One piece is the
// batch itself; the others are copies.
func split(b *block.Batch, give func(*block.Batch) error) error {
	rows, size := b.Rows(), b.MemBytes()
	if size <= pieceBytes || rows <= 1 {
		return give(b)
	}
	per := max(1, rows*pieceBytes/size)
	for from := 0; from < rows; from += per {
		if err := split(b.Slice(from, min(from+per, rows)), give); err != nil { // fewer rows each time: it ends
			return err
		}
	}
	return nil
}
