package window

import (
	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// PreAggConfig configures the source side.
type PreAggConfig struct {
	Windows *Windows
	Keys    block.Schema // group key columns, in order; empty: one group
	Aggs    []agg.Spec
	Args    []block.Type // argument types, by agg.Spec.Arg
	// Route returns the destination of a new group, given the key columns and the row that brought it. It is asked once
	// per group for as long as the group is remembered.
	Route func(keys []*block.Column, row int) ident.VGroup
	// TargetBytes is the size in memory that a batch of partials aims at; 0 is DefaultTargetBytes.
	TargetBytes int
	// MaxGroups is how many groups are remembered across flushes; 0 is DefaultMaxGroups.
	MaxGroups int
	// Seed seeds the hash of the group table. Results do not depend on it; a random one keeps whoever chooses the keys
	// from choosing collisions.
	Seed uint64
}

// Rows are the rows for PreAgg.Add, as columns. All columns are indexed by row number.
type Rows struct {
	Keys []*block.Column // evaluated group keys
	Args []*block.Column // evaluated aggregate arguments
	Ts   []int64         // event times, ms
	// Partition and Offset order rows of equal time for first and last; nil when the stream has neither.
	Partition, Offset []int64
	// OpenFrom is, per row, the lowest window end that is still open for the row: the row counts only in windows that
	// end at or after it. nil: every window of every row is open.
	OpenFrom []ident.EventMs
	// Sel lists the rows to add, rising. They lie in a window (Windows.Holds) and are not late.
	Sel []int32
}

// Defaults of PreAggConfig.
const (
	// DefaultTargetBytes is the target size of a block before compression (DESIGN §4).
	DefaultTargetBytes = 256 << 10
	// DefaultMaxGroups bounds the memory of the group table at some 20 MB; refilling it costs less than a flush.
	DefaultMaxGroups = 1 << 18
)

// addChunk is how many rows are taken through all steps together: few enough that their cells stay in the L1 cache.
const addChunk = 256

// PreAgg groups rows by (group, pane, lowest open window) until the flush.
type PreAgg struct {
	cfg    PreAggConfig
	layout *agg.Layout
	cells  *agg.Cells
	groups *groups[preGroup]
	heads  []preHead // by cell
	index  cellIndex
	epoch  uint32 // counts flushes: what a group remembers from an older one is void
	keys   []*block.Column
	flush  flusher

	group, target [addChunk]uint32 // scratch: group and cell of each row of a chunk
}

// preGroup is what PreAgg remembers of a group: its destination, and the cell used last.
type preGroup struct {
	pane, from ident.EventMs
	cell       uint32
	epoch      uint32
	route      ident.VGroup
	// indexed tells whether cell is in the index. The first cell of a group since the flush is not, as long as the group
	// has no other: most groups of a wide stream never pay for the index.
	indexed bool
	_       [8]byte // see group
}

// preHead says what a cell is for.
type preHead struct {
	pane, from ident.EventMs
	group      uint32
	route      ident.VGroup // of the group
}

// fromAll is the lowest open window of a row that counts in all windows of its pane.
const fromAll = ident.WatermarkNone

// NewPreAgg returns an empty PreAgg.
func NewPreAgg(c PreAggConfig) *PreAgg {
	if c.TargetBytes == 0 {
		c.TargetBytes = DefaultTargetBytes
	}
	if c.MaxGroups == 0 {
		c.MaxGroups = DefaultMaxGroups
	}
	layout := agg.NewLayout(c.Aggs, c.Args)
	p := &PreAgg{cfg: c, layout: layout, cells: agg.NewCells(layout), epoch: 1}
	p.groups = newGroups(c.Keys, c.Seed, preGroup{})
	p.flush.init(c, layout)
	return p
}

// Cells returns how many partials the next flush would hand out: what to bound between flushes, beside MemBytes.
func (p *PreAgg) Cells() int { return p.cells.Len() }

// maxCells is how many cells are worth gathering before the flush: some 3 MB with common aggregates. More would reduce
// little further, and fall out of the processor's cache.
const maxCells = 1 << 15

// Full tells that the flush should come now.
func (p *PreAgg) Full() bool { return p.cells.Len() >= maxCells }

// MemBytes is the memory held, used or not.
func (p *PreAgg) MemBytes() int {
	const headBytes, slotBytes = 24, 8
	return p.cells.MemBytes() + p.groups.memBytes() + headBytes*cap(p.heads) + slotBytes*cap(p.index.slots)
}

// Add adds the selected rows.
func (p *PreAgg) Add(rows Rows) {
	p.keys = rows.Keys
	for sel := rows.Sel; len(sel) > 0; {
		n := min(len(sel), addChunk)
		p.addChunk(rows, sel[:n])
		sel = sel[n:]
	}
	p.keys = nil
}

func (p *PreAgg) addChunk(rows Rows, sel []int32) {
	group, target := p.group[:len(sel)], p.target[:len(sel)]
	p.groups.resolve(group, rows.Keys, sel, p.entered)
	list := p.groups.list
	for i, r := range sel {
		pane, from := p.cfg.Windows.Pane(ident.EventMs(rows.Ts[r])), fromAll
		if rows.OpenFrom != nil {
			from = p.cfg.Windows.lowest(pane, rows.OpenFrom[r])
		}
		if g := &list[group[i]].state; g.pane == pane && g.from == from && g.epoch == p.epoch {
			target[i] = g.cell
		} else {
			target[i] = p.cell(group[i], pane, from)
		}
	}
	p.cells.Add(agg.Rows{Cells: target, Sel: sel, Args: rows.Args, Ts: rows.Ts, Partition: rows.Partition, Offset: rows.Offset})
}

// entered gives a new group its destination.
func (p *PreAgg) entered(group uint32, row int) {
	p.groups.list[group].state.route = p.cfg.Route(p.keys, row)
}

// cell returns the cell of a group that is not the one the group used last, and makes it so.
func (p *PreAgg) cell(group uint32, pane, from ident.EventMs) uint32 {
	g := &p.groups.list[group].state
	first := g.epoch != p.epoch
	if !first && !g.indexed {
		p.index.insert(p.heads, g.cell)
	}
	head := preHead{pane: pane, from: from, group: group, route: g.route}
	cell, found := uint32(0), false
	if !first {
		cell, found = p.index.find(p.heads, head)
	}
	if !found {
		cell = p.cells.Alloc()
		p.heads = append(p.heads, head)
		if !first {
			p.index.insert(p.heads, cell)
		}
	}
	g.pane, g.from, g.cell, g.epoch, g.indexed = pane, from, cell, p.epoch, !first
	return cell
}

// Flush hands out everything as batches of partials, each for one destination, and forgets it. A batch is valid until
// emit returns. Destinations rise; within one, partials come in the order in which they began.
func (p *PreAgg) Flush(emit func(vg ident.VGroup, partials *block.Batch)) {
	p.flush.run(p, emit)
	p.cells.Reset()
	p.heads = p.heads[:0]
	p.index.clear()
	p.epoch++
	if p.groups.live > p.cfg.MaxGroups {
		p.groups.clear()
	}
}
