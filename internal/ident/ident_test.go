package ident

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTextFormsParseBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inst := Instance{Counter: rapid.Uint64().Draw(t, "counter"), Random: rapid.Uint32().Draw(t, "random")}
		place := Place{Node: NodeID(rapid.StringMatching(`[a-z0-9/-]{1,20}`).Draw(t, "node")), Instance: inst}
		if got, err := ParsePlace(place.String()); err != nil || got != place {
			t.Fatalf("ParsePlace(%q) = %v, %v", place.String(), got, err)
		}
		task := Task{Level: Level(rapid.IntRange(1, 5).Draw(t, "level")), VGroup: VGroup(rapid.Uint16().Draw(t, "vgroup"))}
		if got, err := ParseTask(task.String()); err != nil || got != task {
			t.Fatalf("ParseTask(%q) = %v, %v", task.String(), got, err)
		}
	})
}

func TestMalformedTextFormsAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "-", "agg", "agg-", "agg--1", "agg-65536", "nosuch-1", "agg-1x"} {
		if got, err := ParseTask(s); err == nil {
			t.Errorf("ParseTask(%q) = %v, want an error", s, got)
		}
	}
	for _, s := range []string{"", "n", "n/", "n/1", "n/1-2", "n/x-00000000", "n/1-0000000g"} {
		if got, err := ParsePlace(s); err == nil {
			t.Errorf("ParsePlace(%q) = %v, want an error", s, got)
		}
	}
}

func TestT22_LastAndNextConvertInOnePlace(t *testing.T) {
	t.Parallel()
	if got := LastOffset(9).Next(); got != NextOffset(10) {
		t.Fatalf("LastOffset(9).Next() = %d, want 10", got)
	}
}
