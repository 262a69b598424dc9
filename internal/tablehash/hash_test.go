package tablehash

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/ident"
)

type vectors struct {
	Seed      uint32 `json:"seed"`
	SelfCheck []struct {
		Text       string
		Seed, Hash uint32
	} `json:"self_check"`
	Ranges map[string][][2]uint32 `json:"ranges"`
	Names  []struct {
		Name   string                  `json:"name"`
		Hash   uint32                  `json:"hash"`
		VGroup map[string]ident.VGroup `json:"vgroup_index"`
	} `json:"names"`
	Affixes []struct {
		Name         string       `json:"full_name"`
		GivenPrefix  int          `json:"table_prefix"`
		Prefix       int          `json:"effective_prefix"`
		Suffix       int          `json:"table_suffix"`
		Hash         uint32       `json:"hash"`
		VGroupOfFour ident.VGroup `json:"vgroup_index_of_4"`
	} `json:"prefix_suffix"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	doc, err := os.ReadFile("testdata/hash.json")
	if err == nil {
		err = json.Unmarshal(doc, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHashVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	if v.Seed != seed {
		t.Fatalf("the vectors are for seed %d", v.Seed)
	}
	for _, c := range v.SelfCheck {
		if got := murmur3([]byte(c.Text), c.Seed); got != c.Hash {
			t.Errorf("murmur3(%q, %d) = %d, want %d", c.Text, c.Seed, got, c.Hash)
		}
	}
	for _, c := range v.Names {
		if got := Sum([]byte(c.Name)); got != c.Hash {
			t.Errorf("Sum(%q) = %d, want %d", c.Name, got, c.Hash)
		}
		for n, want := range c.VGroup {
			vgroups, _ := strconv.Atoi(n)
			if got := VGroupOf(c.Hash, vgroups); got != want {
				t.Errorf("%q in vgroup %d of %s, want %d", c.Name, got, n, want)
			}
		}
	}
	for n, ranges := range v.Ranges {
		vgroups, _ := strconv.Atoi(n)
		for i, want := range ranges {
			if lo, hi := Range(ident.VGroup(i), vgroups); [2]uint32{lo, hi} != want {
				t.Errorf("range %d of %s is [%d, %d], want %d", i, n, lo, hi, want)
			}
		}
	}
}

func TestAffixVectors(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors(t).Affixes {
		a := Affix{Prefix: c.Prefix, Suffix: c.Suffix}
		if mixed := c.GivenPrefix > 0 && c.Suffix < 0; mixed { // these vectors are of a system that takes mixed signs
			if a.Validate() == nil {
				t.Errorf("%+v: mixed signs are taken", a)
			}
			continue
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
		if got := a.Sum([]byte(c.Name)); got != c.Hash || VGroupOf(got, 4) != c.VGroupOfFour {
			t.Errorf("%+v of %q = %d, vgroup %d; want %d, %d", a, c.Name, got, VGroupOf(got, 4), c.Hash, c.VGroupOfFour)
		}
	}
}

func TestAffixLimits(t *testing.T) {
	t.Parallel()
	for a, ok := range map[Affix]bool{{}: true, {191, 191}: true, {-191, -191}: true, {0, -191}: true, {192, 0}: false,
		{0, -192}: false, {1, -1}: false, {-1, 1}: false, {-5, 0}: true} {
		if (a.Validate() == nil) != ok {
			t.Errorf("%+v: %v", a, a.Validate())
		}
	}
	long := make([]byte, 400)
	if got, want := (Affix{-191, -191}).Sum(long), Sum(long[:382]); got != want {
		t.Errorf("the longest parts: %d, want %d", got, want)
	}
}

func TestRealTablesHaveTheirVGroups(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const vgroups, header = 8, 1
	for _, r := range rows[header:] {
		hash := Sum([]byte(r[1]))
		if strconv.FormatUint(uint64(hash), 10) != r[3] || strconv.Itoa(int(VGroupOf(hash, vgroups))) != r[4] {
			t.Errorf("%s: hash %d in vgroup %d, want %s in %s", r[1], hash, VGroupOf(hash, vgroups), r[3], r[4])
		}
	}
	if len(rows) != 256 {
		t.Errorf("%d rows", len(rows))
	}
}

// The computed index agrees with a scan of the ranges, which cover all hashes without overlap.
func TestRangesAreAPartition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		vgroups := rapid.IntRange(1, 2000).Draw(t, "vgroups")
		hash := rapid.Uint32().Draw(t, "hash")
		next, owner := uint64(0), -1
		for i := range vgroups {
			lo, hi := Range(ident.VGroup(i), vgroups)
			if uint64(lo) != next {
				t.Fatalf("range %d begins at %d, want %d", i, lo, next)
			}
			if lo <= hash && hash <= hi {
				owner = i
			}
			next = uint64(hi) + 1
		}
		if next != 1<<32 {
			t.Fatalf("the ranges end at %d", next)
		}
		if got := VGroupOf(hash, vgroups); int(got) != owner {
			t.Fatalf("hash %d: vgroup %d, a scan says %d", hash, got, owner)
		}
	})
}

func TestHashingNeedsNoMemory(t *testing.T) {
	name := []byte("1.test.device_0001")
	if n := testing.AllocsPerRun(100, func() { _ = Sum(name) + Affix{-3, -4}.Sum(name) + Affix{3, 4}.Sum(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSum(b *testing.B) {
	name := []byte("device_0001")
	for b.Loop() {
		Sum(name)
	}
}
