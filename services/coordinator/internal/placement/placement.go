package placement

import (
	"slices"

	"github.com/pondage/pondage/internal/ident"
)

// Fill gives owners to the vgroups that have none ("" in owners, which is indexed by vgroup), so that the nodes own
// equally many where that can be had. Ties go to the lower id. It returns a new slice, and whether anything changed.
func Fill(owners, nodes []ident.NodeID) (filled []ident.NodeID, changed bool) {
	filled = slices.Clone(owners)
	if len(nodes) == 0 {
		return filled, false
	}
	sorted := slices.Clone(nodes)
	slices.Sort(sorted)
	owned := map[ident.NodeID]int{}
	for _, n := range owners {
		owned[n]++
	}
	for vg, n := range filled {
		if n != "" {
			continue
		}
		least := sorted[0]
		for _, candidate := range sorted[1:] {
			if owned[candidate] < owned[least] {
				least = candidate
			}
		}
		filled[vg] = least
		owned[least]++
		changed = true
	}
	return filled, changed
}

// Placed is a task and where it runs.
type Placed struct {
	Task  ident.Task
	Place ident.Place
}

// Tasks places tasks on the owners of their vgroups, in the instance that each owner has now. absent lists, sorted, the
// owners without a live instance; unowned tells that a vgroup has no owner. Only when neither is the case is placed
// complete and may be used; it is sorted by task.
func Tasks(tasks []ident.Task, owners []ident.NodeID, live map[ident.NodeID]ident.Instance) (placed []Placed, absent []ident.NodeID, unowned bool) {
	for _, t := range tasks {
		if int(t.VGroup) >= len(owners) || owners[t.VGroup] == "" {
			unowned = true
			continue
		}
		owner := owners[t.VGroup]
		instance, ok := live[owner]
		if !ok {
			absent = append(absent, owner)
			continue
		}
		placed = append(placed, Placed{Task: t, Place: ident.Place{Node: owner, Instance: instance}})
	}
	slices.Sort(absent)
	slices.SortFunc(placed, func(a, b Placed) int { return a.Task.Compare(b.Task) })
	return placed, slices.Compact(absent), unowned
}
