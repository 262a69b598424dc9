package window

import (
	"errors"
	"math"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Trigger says when a window is emitted.
type Trigger uint8

const (
	// EmitOnClose emits a window once, when the watermark has passed its end, and again when a late row changes it.
	EmitOnClose Trigger = iota
	// EmitOnChange emits a window whenever it has changed (AT_ONCE).
	EmitOnChange
)

// KeepForever as StateConfig.Keep never purges a window.
const KeepForever ident.EventMs = math.MaxInt64

// StateConfig configures the aggregating side.
type StateConfig struct {
	Windows *Windows
	Keys    block.Schema
	Aggs    []agg.Spec
	Args    []block.Type // argument types, by agg.Spec.Arg
	Trigger Trigger
	// Keep is how long a closed window is kept for late rows, in event time: the allowed lateness, with
	// `late_by: table` the larger of it and table_ttl.
	Keep ident.EventMs
	// Tell says which events are emitted.
	Tell Events
	// BatchRows bounds the rows of an emitted batch; 0 is DefaultBatchRows.
	BatchRows int
	// Seed is as in PreAggConfig.
	Seed uint64
}

// Emission is a batch of emitted windows. It and its columns are valid until emit returns.
type Emission struct {
	Batch *block.Batch // columns as Schema
	// Errors are results that have no value (it is null in the batch), by row. Their rows are data errors: for the
	// dead-letter topic, not for the sink.
	Errors []agg.ResultError
	// Event is what has happened to the windows. Of EventOpened the aggregates say nothing.
	Event Event
	// EventOnly says that it is no result: there is none yet, or it is emitted beside.
	EventOnly bool
}

// The columns that every aggregating operator emits between the group keys and the aggregates.
const (
	ColumnStart = "_wstart"
	ColumnEnd   = "_wend"
	ColumnRows  = "_wrows"
)

// ErrClosedWindow is what Merge returns for a partial of a window that is closed and purged: the sender broke the
// promise that its channel's watermark holds the window open. It is corruption, not lateness.
var ErrClosedWindow = errors.New("partial for a window that is closed")

// ErrPartial is what Merge returns for a batch that is not one of partials of this stream.
var ErrPartial = errors.New("batch of partials does not fit the stream")

// DefaultBatchRows is the bound of StateConfig.BatchRows: with common aggregates some 64 KiB, so that the columns stay
// in the L2 cache between operator, projection and sink.
const DefaultBatchRows = 1024

// State is the Operator of fixed and calendar windows.
type State struct {
	cfg       StateConfig
	windows   *Windows
	layout    *agg.Layout
	cells     *agg.Cells
	heads     []cellHead // by cell
	groups    *groups[stateGroup]
	panes     panes
	watermark ident.EventMs
	changed   []uint32   // cells that changed since their windows were emitted
	opened    []windowOf // windows that got their first row since it was told, some more than once
	slider    slider
	out       emitter
	partial   Partial
	over      overflow

	// quietFrom is the start of the first pane none of whose windows is closed.
	quietFrom ident.EventMs

	// Scratch of Merge, by row: group, cell, row number; rowNumbers is 0, 1, 2, …
	group, target   []uint32
	sel, rowNumbers []int32
	pairs           []windowOf // scratch of Changed
}

// stateGroup is what State keeps of a group.
type stateGroup struct {
	// The cell without restriction that was used last, and its pane.
	pane  ident.EventMs
	cell  uint32
	cells int32 // kept cells; a group without any is removed
	slide slideGroup
}

// noPane is the pane of a group that has none.
const noPane = ident.WatermarkNone

// NewState returns a State without windows, at the watermark WatermarkNone.
func NewState(c StateConfig) *State {
	if c.BatchRows == 0 {
		c.BatchRows = DefaultBatchRows
	}
	layout := agg.NewLayout(c.Aggs, c.Args)
	s := &State{cfg: c, windows: c.Windows, layout: layout, cells: agg.NewCells(layout), watermark: ident.WatermarkNone, quietFrom: maxTime}
	s.groups = newGroups(c.Keys, c.Seed, stateGroup{pane: noPane, slide: slideGroup{slowThrough: noPane}})
	s.over = overflow{epoch: 1, dirty: 1, inFlight: 1}
	s.slider = newSlider(s)
	s.out.init(s)
	return s
}

var _ Operator = (*State)(nil)

// newCell returns a cell with the head.
func (s *State) newCell(h cellHead) uint32 {
	cell := s.cells.Alloc()
	if int(cell) == len(s.heads) {
		s.heads = append(s.heads, h)
	} else {
		s.heads[cell] = h
	}
	return cell
}

// Advance implements Operator.
func (s *State) Advance(w ident.EventMs, emit func(*Emission)) {
	s.Changed(emit)
	if w <= s.watermark {
		return
	}
	if s.cfg.Trigger == EmitOnClose || s.cfg.Tell.Closed {
		if s.cfg.Tell.Closed {
			s.out.event, s.out.eventOnly = EventClosed, s.cfg.Trigger != EmitOnClose
		}
		if s.windows.Direct() {
			s.closeDirect(w, emit)
		} else {
			s.slider.close(w, emit)
		}
		s.out.flush(emit)
		s.out.event, s.out.eventOnly = EventNone, false
	}
	s.watermark = w
	s.purge()
	s.openFrom(w)
}

// openFrom finds the first pane none of whose windows is closed at the watermark.
func (s *State) openFrom(w ident.EventMs) {
	s.quietFrom = maxTime
	if i := s.panes.search(func(p *pane) bool { return p.firstEnd > w }); i < len(s.panes.list) {
		s.quietFrom = s.panes.list[i].start
	}
}

// closeDirect emits the windows that are their own pane and end in (watermark, w].
func (s *State) closeDirect(w ident.EventMs, emit func(*Emission)) {
	for _, p := range s.panes.list[s.firstOpen():] {
		if p.lastEnd > w || s.over.err != nil {
			return
		}
		if p.spilled != nil {
			s.over.fail(s.closeSpilled(p, w, emit))
			continue
		}
		for _, cell := range p.cells {
			s.out.add(emit, p.start, p.lastEnd, s.heads[cell].group, cell)
		}
	}
}

// firstOpen returns the index of the first pane that an open window holds.
func (s *State) firstOpen() int {
	return s.panes.search(func(p *pane) bool { return p.lastEnd > s.watermark })
}

// purge drops the panes all of whose windows are closed and kept long enough, and the groups that have none left.
func (s *State) purge() {
	n := 0
	for n < len(s.panes.list) && s.purgeable(s.panes.list[n].lastEnd) {
		s.drop(s.panes.list[n])
		n++
	}
	if n > 0 {
		s.panes.dropFirst(n)
	}
}

// purgeable tells whether a window that ends at end cannot change any more.
func (s *State) purgeable(end ident.EventMs) bool { return s.goneAt(s.watermark, end) }

// goneAt is purgeable at a watermark.
func (s *State) goneAt(w, end ident.EventMs) bool {
	return end <= w && s.cfg.Keep != KeepForever && w-s.cfg.Keep >= end
}

// drop frees the cells of a pane, and what is spilled of it.
func (s *State) drop(p *pane) {
	s.forget(p)
	s.release(p)
}

// release frees the cells of a pane, and the groups that have no other.
func (s *State) release(p *pane) {
	s.cells.Free(p.cells)
	for _, cell := range p.cells {
		group := s.heads[cell].group
		g := &s.groups.list[group].state
		g.cells--
		for next := s.heads[cell].next; next != 0; next = s.heads[next-1].next {
			s.cells.Free([]uint32{next - 1})
			g.cells--
		}
		if g.pane == p.start {
			g.pane = noPane
		}
		if g.cells == 0 {
			s.groups.remove(group)
		}
	}
}

// Stats implements Operator.
func (s *State) Stats() Stats {
	const headBytes, slotBytes = 32, 4
	st := Stats{Groups: s.groups.live, Panes: len(s.panes.list), MemBytes: s.cells.MemBytes() + s.groups.memBytes() + headBytes*cap(s.heads)}
	for _, p := range s.panes.list {
		st.Cells += len(p.cells) + p.restricted
		if p.spilled != nil {
			for _, b := range p.spilled.buckets {
				st.Cells += b.cells
			}
		}
		st.MemBytes += slotBytes * (cap(p.cells) + cap(p.slots))
	}
	return st
}
