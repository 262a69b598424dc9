package dispatch

import (
	"fmt"
	"testing"

	"github.com/pondage/pondage/internal/ident"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	a, b := mustTask("agg-0"), mustTask("agg-1")
	fixed, shuffle := Fixed(a), Shuffle([]ident.Task{a, b})
	mapped := VTableMap(map[TableID]ident.Task{7: b, 8: b, 9: a})
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"fixed", fixed.Of(5), a},
		{"shuffle", shuffle.Of(1), b},
		{"destinations of fixed", fmt.Sprint(fixed.Destinations()), "[agg-0]"},
		{"destinations of shuffle", fmt.Sprint(shuffle.Destinations()), "[agg-0 agg-1]"},
		{"destinations of a map, each once", fmt.Sprint(mapped.Destinations()), "[agg-0 agg-1]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if to, ok := mapped.OfTable(8, 3); !ok || to != b {
		t.Errorf("table 8 goes to %v, %t", to, ok)
	}
	if _, ok := mapped.OfTable(1, 3); ok || mapped.Unmapped() != 3 {
		t.Errorf("table 1 is in no virtual table: %t, %d rows counted", ok, mapped.Unmapped())
	}
}
