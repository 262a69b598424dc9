package dispatch

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Router says to which destination the rows of an edge go. It is a value without state but the count of what had nowhere
// to go.
type Router struct {
	kind     routeKind
	fixed    ident.Task
	byVGroup []ident.Task
	byTable  map[TableID]ident.Task
	unmapped uint64
}

// TableID identifies a source table in the map of a virtual table.
type TableID uint64

type routeKind uint8

const (
	routeFixed routeKind = 1 + iota
	routeShuffle
	routeVTable
)

// Fixed sends everything to one destination.
func Fixed(to ident.Task) Router { return Router{kind: routeFixed, fixed: to} }

// Shuffle sends rows to the task of the vgroup that their subtable hashes to (DESIGN §3): tasks[i] is the one of vgroup i.
func Shuffle(tasks []ident.Task) Router { return Router{kind: routeShuffle, byVGroup: tasks} }

// VTableMap sends the rows of a source table to the task of the virtual table that it is mapped to.
func VTableMap(m map[TableID]ident.Task) Router { return Router{kind: routeVTable, byTable: m} }

// Destinations lists the tasks that rows can go to, each once, in order; control messages go to all of them.
func (r *Router) Destinations() []ident.Task {
	var all []ident.Task
	switch r.kind {
	case routeFixed:
		all = []ident.Task{r.fixed}
	case routeShuffle:
		all = append(all, r.byVGroup...)
	case routeVTable:
		for _, t := range r.byTable {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, ident.Task.Compare)
	return slices.Compact(all)
}

// Of returns the destination of rows that hash to the vgroup; a fixed one for any vgroup.
func (r *Router) Of(vg ident.VGroup) ident.Task {
	if r.kind == routeShuffle {
		return r.byVGroup[vg]
	}
	return r.fixed
}

// OfTable returns the destination of rows of a source table; false when the table is in no virtual table: the rows are
// filtered at the source, and counted here.
func (r *Router) OfTable(id TableID, rows int) (ident.Task, bool) {
	t, ok := r.byTable[id]
	if !ok {
		r.unmapped += uint64(rows)
	}
	return t, ok
}

// Unmapped is how many rows OfTable found no destination for.
func (r *Router) Unmapped() uint64 { return r.unmapped }
