package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

func TestFillSpreadsEvenlyAndKeepsOwners(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]ident.NodeID, rapid.IntRange(1, 6).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = ident.NodeID(fmt.Sprintf("n%d", i))
		}
		before := make([]ident.NodeID, rapid.IntRange(1, 64).Draw(t, "vgroups"))
		owned := map[ident.NodeID]int{}
		for i := range before {
			if rapid.Bool().Draw(t, "owned") {
				before[i] = rapid.SampledFrom(nodes).Draw(t, "owner")
				owned[before[i]]++
			}
		}
		uneven := 0
		for _, n := range nodes {
			uneven = max(uneven, owned[n])
		}

		after, _ := Fill(before, nodes)

		count := map[ident.NodeID]int{}
		for vg, n := range after {
			if n == "" || (before[vg] != "" && before[vg] != n) {
				t.Fatalf("vgroup %d: %q became %q", vg, before[vg], n)
			}
			count[n]++
		}
		even := (len(before) + len(nodes) - 1) / len(nodes)
		for _, n := range nodes {
			if count[n] > max(even, uneven) {
				t.Fatalf("%s owns %d of %d vgroups, %d would be even", n, count[n], len(before), even)
			}
		}
		if again, changed := Fill(after, nodes); changed || !cmp.Equal(again, after) {
			t.Fatal("a full assignment changed")
		}
	})
}

func TestFillDoesNotDependOnTheOrderOfNodes(t *testing.T) {
	t.Parallel()
	a, _ := Fill(make([]ident.NodeID, 8), []ident.NodeID{"b", "a", "c"})
	b, _ := Fill(make([]ident.NodeID, 8), []ident.NodeID{"c", "b", "a"})
	want := []ident.NodeID{"a", "b", "c", "a", "b", "c", "a", "b"}
	if !cmp.Equal(a, want) || !cmp.Equal(b, want) {
		t.Fatalf("got %v and %v, want %v", a, b, want)
	}
}

func TestFillWithoutNodesLeavesAllUnowned(t *testing.T) {
	t.Parallel()
	if got, changed := Fill(make([]ident.NodeID, 2), nil); changed || got[0] != "" {
		t.Fatalf("got %v, changed %v", got, changed)
	}
}

func TestTasksFollowTheirOwner(t *testing.T) {
	t.Parallel()
	tasks := []ident.Task{{Level: ident.LevelAgg, VGroup: 1}, {Level: ident.LevelSource, VGroup: 0}, {Level: ident.LevelAgg, VGroup: 0}}
	owners := []ident.NodeID{"a", "b"}
	one, two := ident.Instance{Counter: 1, Random: 7}, ident.Instance{Counter: 2, Random: 8}

	placed, absent, unowned := Tasks(tasks, owners, map[ident.NodeID]ident.Instance{"a": one, "b": two})
	want := []Placed{
		{ident.Task{Level: ident.LevelSource, VGroup: 0}, ident.Place{Node: "a", Instance: one}},
		{ident.Task{Level: ident.LevelAgg, VGroup: 0}, ident.Place{Node: "a", Instance: one}},
		{ident.Task{Level: ident.LevelAgg, VGroup: 1}, ident.Place{Node: "b", Instance: two}},
	}
	if !cmp.Equal(placed, want) || len(absent) > 0 || unowned {
		t.Fatalf("got %v, absent %v, unowned %v", placed, absent, unowned)
	}

	if _, absent, _ = Tasks(tasks, owners, map[ident.NodeID]ident.Instance{"b": two}); !cmp.Equal(absent, []ident.NodeID{"a"}) {
		t.Fatalf("absent %v, want a once", absent)
	}
	if _, _, unowned = Tasks(tasks, []ident.NodeID{"a", ""}, map[ident.NodeID]ident.Instance{"a": one}); !unowned {
		t.Fatal("a vgroup without owner was not noticed")
	}
}
