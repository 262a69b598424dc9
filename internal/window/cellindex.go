package window

import "github.com/pondage/pondage/internal/ident"

// cellIndex finds the cells of PreAgg by head. Open addressing; the upper half of a slot is a part of the head's hash, so
// that a cell is looked at only when it is likely the one, the lower half is 1 + the cell.
type cellIndex struct {
	slots []uint64
	used  int
}

func (h preHead) hash() uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, bits evenly spread
	return mix(uint64(h.pane)^uint64(h.group)<<entryHalf^uint64(h.from), spread)
}

// find returns the cell with the head.
func (x *cellIndex) find(heads []preHead, h preHead) (cell uint32, ok bool) {
	if x.used == 0 {
		return 0, false
	}
	hash, mask := h.hash(), uint64(len(x.slots)-1)
	for i := hash & mask; x.slots[i] != 0; i = (i + 1) & mask {
		if x.slots[i]>>entryHalf != hash>>entryHalf {
			continue
		}
		if cell := uint32(x.slots[i]) - 1; heads[cell] == h {
			return cell, true
		}
	}
	return 0, false
}

// insert enters a cell that is not in the index.
func (x *cellIndex) insert(heads []preHead, cell uint32) {
	if 2*x.used >= len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(minEntries, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.link(heads, uint32(s)-1)
			}
		}
	}
	x.link(heads, cell)
	x.used++
}

func (x *cellIndex) link(heads []preHead, cell uint32) {
	hash, mask := heads[cell].hash(), uint64(len(x.slots)-1)
	i := hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = hash&^entryMask | uint64(cell+1)
}

// clear empties the index and keeps its memory.
func (x *cellIndex) clear() {
	if x.used > 0 {
		clear(x.slots)
		x.used = 0
	}
}

// lowest returns the lowest end, at or after openFrom, of the windows that hold the pane; fromAll when that is all of
// them. pane is the one remembered. A row that is late in all windows breaks the contract of Rows; its last window is
// returned, and the aggregating task will refuse the partial.
func (w *Windows) lowest(pane, openFrom ident.EventMs) ident.EventMs {
	if openFrom <= w.paneFirstEnd {
		return fromAll
	}
	start, ok := w.FirstEndingAfter(pane, openFrom-1)
	if !ok {
		return w.paneLastEnd
	}
	return w.End(start)
}
