package manifest

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/ident"
)

// full has a value in every member.
func full() *Manifest {
	state, results := Hash{1}, Hash{2}
	return &Manifest{
		Cluster: "c", Stream: 7, Name: "hourly", Stage: 3, Checkpoint: 12, Tx: 99, Task: "agg-5", Plan: "f00d",
		Operators: []Operator{{ID: "interval:1h:tbname", Accumulators: []string{"count", "sum(x)"}}},
		Files:     []File{{Role: RoleBase, Bytes: 10, Hash: state, Of: "interval:1h:tbname"}, {Role: RoleSink, Bytes: 20, Hash: results, Of: "kafka"}},
		Source: &Source{Watermark: ident.WatermarkNone, Asleep: true, Partitions: []Partition{{
			Topic: "t", TopicID: "AAA", Partition: 2, Next: 1<<62 + 1, Epoch: -1, Highest: -5, Floor: ident.WatermarkEnd,
			Counters: Counters{Counted: 1, Filtered: 2, NoWindow: 3, Late: 4, DeadLettered: 5},
			Tables:   []Table{{Name: "温度\n", Last: -1}}, Seen: []Seen{{Key: "k/1", Ms: 5}},
		}}},
		Merge: &Merge{Watermark: 5, SilenceMs: 7, Upstreams: []Upstream{{Task: "source-1", Watermark: 9}}},
		Sinks: []Sink{{Kind: "kafka", Marker: 10, Intervals: []Interval{{After: 11, Hash: results, Rows: 3}}}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	text, id := full().Encode()
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, same := got.Encode()
	if string(again) != string(text) || same != id {
		t.Error("written again it is another one")
	}
}

// TestTheFormStays: manifests of this version are on disks. A change of the text is a new version.
func TestTheFormStays(t *testing.T) {
	t.Parallel()
	text, id := (&Manifest{Cluster: "c", Stream: 1, Stage: 1, Checkpoint: 1, Tx: 1, Task: "source-0"}).Encode()
	const body = `{"cluster":"c","stream":1,"name":"","stage":1,"checkpoint":1,"tx":1,"task":"source-0","plan":""}` + "\n"
	head, rest, _ := strings.Cut(string(text), "\n")
	if rest != body {
		t.Errorf("got %s", rest)
	}
	if want := "PONDAGE-MANIFEST 1 " + Hash(sha256.Sum256([]byte(body))).String(); head != want {
		t.Errorf("got  %s\nwant %s", head, want)
	}
	if id != sha256.Sum256(text) {
		t.Errorf("id %s is not the hash of the text", id)
	}
}

// TestDamageIsFound: no flipped bit and no missing end goes unnoticed.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	text, _ := full().Encode()
	for i := range text {
		for bit := range 8 {
			bad := append([]byte(nil), text...)
			bad[i] ^= 1 << bit
			if _, err := Decode(bad); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
		if _, err := Decode(text[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if _, err := Decode(append(text, 'x')); !errors.Is(err, ErrDamaged) {
		t.Errorf("with something behind it: %v", err)
	}
}

func TestAnotherVersionIsNamed(t *testing.T) {
	t.Parallel()
	text, _ := full().Encode()
	newer := strings.Replace(string(text), "MANIFEST 1 ", "MANIFEST 2 ", 1)
	if _, err := Decode([]byte(newer)); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "2") {
		t.Errorf("%v", err)
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(*Manifest){
		"no stream":    func(m *Manifest) { m.Stream = 0 },
		"checkpoint 0": func(m *Manifest) { m.Checkpoint = 0 },
		"agg5":         func(m *Manifest) { m.Task = "agg5" },
		"role":         func(m *Manifest) { m.Files[0].Role = "other" },
		"no size":      func(m *Manifest) { m.Files[0].Hash = Hash{} },
		"out of order": func(m *Manifest) { m.Sinks[0].Intervals[0].After = 12 },
		"not listed":   func(m *Manifest) { m.Sinks[0].Intervals[0].Hash = Hash{1} },
	} {
		m := full()
		spoil(m)
		text, _ := m.Encode()
		if _, err := Decode(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestHashesAreNames(t *testing.T) {
	t.Parallel()
	h := Hash{0xab}
	if got, err := ParseHash(h.String()); err != nil || got != h {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "ab", strings.ToUpper(h.String()), h.String() + "0", strings.Repeat("g", 64)} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, _ := full().Encode()
	f.Add(text)
	f.Add([]byte("PONDAGE-MANIFEST 1 00\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text)
		if err != nil {
			return
		}
		again, _ := m.Encode()
		if _, err := Decode(again); err != nil {
			t.Errorf("read, written and refused: %v", err)
		}
	})
}
