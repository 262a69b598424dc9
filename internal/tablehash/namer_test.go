package tablehash

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustName(t *testing.T, naming Naming, target, value, key string) string {
	t.Helper()
	n, err := NewNamer(CurrentNaming, naming, target)
	if err != nil {
		t.Fatal(err)
	}
	var v []byte
	if value != "null" {
		v = []byte(value)
	}
	name, err := n.Append(nil, v, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return string(name)
}

// Names of results are for ever: a change here renames.
func TestNamesAreGolden(t *testing.T) {
	t.Parallel()
	x150, x300 := strings.Repeat("x", 150), strings.Repeat("x", 300)
	for _, c := range []struct {
		naming                     Naming
		target, value, key, expect string
	}{
		{NamingTable, "out", "JFK", "k", "JFK"},
		{NamingExact, "out", "JFK", "k", "JFK"},
		{NamingAutomatic, "out", "", "k", "t_585c417afb326ca361bdb96397560718"},
		{NamingAutomatic, "out", "", "", "t_d8cc5be1ce8d9a6e622d1d475b9c6150"},
		{NamingExpression, "out", "null", "k", "t_585c417afb326ca361bdb96397560718"},
		{NamingExpression, "out", "", "k", "t_585c417afb326ca361bdb96397560718"},
		{NamingExpression, "out", "JFK", "k", "JFK_out_c3d31922c50b1b63"},
		{NamingExpression, "out", "ac3d31922c50b1b63", "k", "ac3d31922c50b1b63"},
		{NamingExpression, "out", "JFK", "", "JFK"},
		{NamingExpression, "out", x150, "k", x150 + "_out_c3d31922c50b1b63"},
		{NamingExpression, "flights_by_origin_1h", x150 + "1234", "k", x150 + "1234_flights_by_origin_1h_c3d31922c50b1b63"},
		{NamingExpression, "flights_by_origin_1h", x150 + "12345", "k", x150 + "1234598cb0d9794c49ffefba07d1d211eb3b4"},
		{NamingExpression, "out", x300, "k", "8a4876ea55d998a5d91ed59db796af289dde8a409bb4cdf373263c9769464c52"},
		{NamingExpression, "out", x300, "", "8a4876ea55d998a5d91ed59db796af28"},
	} {
		if got := mustName(t, c.naming, c.target, c.value, c.key); got != c.expect {
			t.Errorf("naming %d, value %q, key %q: %s, want %s", c.naming, c.value, c.key, got, c.expect)
		}
	}
}

func TestExactNamesAreRefusedRatherThanChanged(t *testing.T) {
	t.Parallel()
	n, err := NewNamer(CurrentNaming, NamingExact, "out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Append(nil, nil, []byte("k")); !errors.Is(err, ErrNoName) {
		t.Errorf("null: %v", err)
	}
	if _, err := n.Append(nil, []byte(strings.Repeat("é", 97)), []byte("k")); !errors.Is(err, ErrLongName) {
		t.Errorf("194 bytes: %v", err)
	}
	if _, err := NewNamer(CurrentNaming+1, NamingExact, "out"); err == nil {
		t.Error("a later naming rule is taken")
	}
}

// Two groups never share a name, whatever their expressions say, and no name is too long.
func TestNamesDoNotCollide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, _ := NewNamer(CurrentNaming, NamingExpression, strings.Repeat("t", rapid.IntRange(1, 60).Draw(t, "target")))
		base := strings.Repeat("p", rapid.SampledFrom([]int{0, 1, 100, 120, 150, 160, 161, 192, 193, 300}).Draw(t, "length"))
		seen := map[string]string{}
		for i := range 4 {
			key := fmt.Sprintf("key %d", i)
			value := base
			if rapid.Bool().Draw(t, "ends in its id") {
				value = string(AppendGroupID([]byte(base), GroupID([]byte(key))))
			}
			name, err := n.Append(nil, []byte(value), []byte(key))
			if err != nil || len(name) == 0 || len(name) > MaxNameLen {
				t.Fatalf("%q: %v", name, err)
			}
			if other, ok := seen[string(name)]; ok {
				t.Fatalf("%s and %s are both named %s", key, other, name)
			}
			seen[string(name)] = key
		}
	})
}

// The cache gives what the Namer gives, for any order of use and any size.
func TestCacheAgreesWithTheNamer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		namer, _ := NewNamer(CurrentNaming, NamingExpression, "out")
		affix := Affix{Prefix: 1}
		size := rapid.IntRange(0, 5).Draw(t, "size")
		cache := NewCache(namer, affix, size)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 8), 1, 60).Draw(t, "uses") {
			value, key := fmt.Appendf(nil, "v%d", i), fmt.Appendf(nil, "k%d", i)
			want, _ := namer.Append(nil, value, key)
			got, err := cache.Name(value, key)
			if err != nil || got.Name != string(want) || got.Hash != affix.Sum(want) {
				t.Fatalf("%v %+v, want %s", err, got, want)
			}
			if len(cache.index) > max(size, 1) || len(cache.index) != len(cache.entries)-1 {
				t.Fatalf("%d names in %d entries, the limit is %d", len(cache.index), len(cache.entries), size)
			}
		}
	})
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	namer, _ := NewNamer(CurrentNaming, NamingAutomatic, "out")
	cache := NewCache(namer, Affix{}, 2)
	a, b := []byte("a"), []byte("b")
	for _, key := range [][]byte{a, b, a, []byte("c")} { // c takes the place of b
		if _, err := cache.Name(nil, key); err != nil {
			t.Fatal(err)
		}
	}
	allocs := func(key []byte) float64 {
		return testing.AllocsPerRun(1, func() { _, _ = cache.Name(nil, key) })
	}
	if n := allocs(a); n != 0 {
		t.Errorf("a is not kept: %v allocations", n)
	}
	if _, ok := cache.index["b"]; ok {
		t.Error("b is still there")
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	var c Claims
	a, b := []byte("a"), []byte("b")
	for i, step := range []struct {
		name string
		key  []byte
		want bool
	}{{"JFK", a, true}, {"JFK", a, true}, {"JFK", b, false}, {"LGA", b, true}} {
		if c.Take(step.name, step.key) != step.want {
			t.Errorf("step %d: %s for %s, want %v", i, step.name, step.key, step.want)
		}
	}
	c.Release("JFK", b) // not b's to give
	if c.Take("JFK", b) {
		t.Error("b took a's name")
	}
	c.Release("JFK", a)
	if !c.Take("JFK", b) {
		t.Error("a released name stays taken")
	}
}
