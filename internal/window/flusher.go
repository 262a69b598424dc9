package window

import (
	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// flusher turns the cells of a PreAgg into batches of partials. It keeps its memory.
type flusher struct {
	target  int // bytes of a batch
	fixed   int // bytes of a row without its texts
	keys    int // number of key columns
	full    *block.Batch
	sent    block.Batch // the columns of full that are not left out
	byRoute [][]uint32  // cells by destination
}

func (f *flusher) init(c PreAggConfig, l *agg.Layout) {
	schema := append(block.Schema{}, c.Keys...)
	schema = append(schema, block.Field{Name: ColumnPane, Type: block.Timestamp}, block.Field{Name: ColumnFrom, Type: block.Timestamp})
	schema = append(schema, l.PartialFields()...)
	f.target, f.keys, f.full = c.TargetBytes, len(c.Keys), block.NewBatch(schema, 0)
	const valueBytes = 8 // of most columns; of a text, its offset and a guess at the rest
	f.fixed = valueBytes * len(schema)
}

func (f *flusher) run(p *PreAgg, emit func(ident.VGroup, *block.Batch)) {
	f.sort(p)
	for vg, cells := range f.byRoute {
		for len(cells) > 0 {
			n := f.fitting(p, cells)
			emit(ident.VGroup(vg), f.build(p, cells[:n]))
			cells = cells[n:]
		}
	}
}

// sort distributes the cells over their destinations.
func (f *flusher) sort(p *PreAgg) {
	for i := range f.byRoute {
		f.byRoute[i] = f.byRoute[i][:0]
	}
	for cell := range p.heads {
		vg := int(p.heads[cell].route)
		for vg >= len(f.byRoute) {
			f.byRoute = append(f.byRoute, nil)
		}
		f.byRoute[vg] = append(f.byRoute[vg], uint32(cell))
	}
}

// fitting returns how many of the cells make a batch of about the target size, at least one.
func (f *flusher) fitting(p *PreAgg, cells []uint32) int {
	size := 0
	for i, cell := range cells {
		size += f.fixed + p.groups.keyBytes(p.heads[cell].group) + p.cells.TextBytes(cell)
		if size > f.target && i > 0 {
			return i
		}
	}
	return len(cells)
}

// build makes the batch of the cells.
func (f *flusher) build(p *PreAgg, cells []uint32) *block.Batch {
	f.full.Reset()
	cols := f.full.Cols
	pane, from := cols[f.keys], cols[f.keys+1]
	restricted := false
	for _, cell := range cells {
		h := &p.heads[cell]
		p.groups.appendKeys(cols[:f.keys], h.group)
		pane.AppendInt(int64(h.pane))
		restricted = restricted || h.from != fromAll
	}
	if restricted {
		f.appendFrom(p, from, cells)
	}
	p.cells.AppendPartials(cols[f.keys+2:], cells)
	f.sent.Schema, f.sent.Cols = f.sent.Schema[:0], f.sent.Cols[:0]
	for i, c := range cols {
		if c.Len() == len(cells) {
			f.sent.Schema, f.sent.Cols = append(f.sent.Schema, f.full.Schema[i]), append(f.sent.Cols, c)
		}
	}
	return &f.sent
}

func (f *flusher) appendFrom(p *PreAgg, col *block.Column, cells []uint32) {
	for _, cell := range cells {
		if from := p.heads[cell].from; from == fromAll {
			col.AppendNull()
		} else {
			col.AppendInt(int64(from))
		}
	}
}
