package manifest

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
		Files: []File{
			{Role: RoleBase, Bytes: 10, Hash: state, Of: "interval:1h:tbname", Task: "agg-5", Checkpoint: 3},
			{Role: RoleSink, Bytes: 20, Hash: results, Of: "kafka", Task: "agg-5", Checkpoint: 12},
		},
		Source: &Source{Watermark: ident.WatermarkNone, Asleep: true, Partitions: []Partition{{
			Topic: "t", TopicID: "AAA", Partition: 2, Next: 1<<62 + 1, Epoch: -1, Highest: -5, Floor: ident.WatermarkEnd,
			Counters: Counters{Counted: 1, Filtered: 2, NoWindow: 3, Late: 4, DeadLettered: 5},
			Tables:   []Table{{Name: "温度\n<&>", Last: -1}}, Seen: []Seen{{Key: []byte("k/\xff"), Ms: 5}}, Replayed: []ident.LastOffset{1<<62 + 3, 4},
		}}},
		Merge: &Merge{Watermark: 5, SilenceMs: 7, Upstreams: []Upstream{{Task: "source-1", Watermark: 9}}},
		Sinks: []Sink{{Kind: "kafka", Marker: 10, Intervals: []Interval{{After: 11, Hash: results, Rows: 3}}}},
	}
}

func encode(t testing.TB, m *Manifest) []byte {
	t.Helper()
	text, _, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	text, id, err := full().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, same, err := got.Encode()
	if string(again) != string(text) || same != id || err != nil {
		t.Error("written again it is another one")
	}
}

var update = flag.Bool("update", false, "write the golden file anew")

// TestTheFormStays: manifests of this version are on disks. A change of the golden file is a new version.
func TestTheFormStays(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", fmt.Sprintf("version-%d.golden", Version))
	text, id, err := full().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(text) != string(want) {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, text, want)
	}
	if id != sha256.Sum256(want) {
		t.Errorf("id %s is not the hash of the text", id)
	}
	if m, err := Decode(want); err != nil || !cmp.Equal(m, full()) {
		t.Errorf("%v, read: %+v", err, m)
	}
}

// TestDamageIsFound: no flipped bit and no missing end goes unnoticed.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	text := encode(t, full())
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
	text := encode(t, full())
	newer := strings.Replace(string(text), "MANIFEST 1 ", "MANIFEST 2 ", 1)
	if _, err := Decode([]byte(newer)); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "2") {
		t.Errorf("%v", err)
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(*Manifest){
		"no stream":       func(m *Manifest) { m.Stream = 0 },
		"checkpoint 0":    func(m *Manifest) { m.Checkpoint = 0 },
		"agg5":            func(m *Manifest) { m.Task = "agg5" },
		"role":            func(m *Manifest) { m.Files[0].Role = "other" },
		"no size":         func(m *Manifest) { m.Files[0].Hash = Hash{} },
		"checkpoint 13":   func(m *Manifest) { m.Files[0].Checkpoint = 13 },
		"file 1: task":    func(m *Manifest) { m.Files[1].Task = "../agg-5" },
		"out of order":    func(m *Manifest) { m.Sinks[0].Intervals[0].After = 12 },
		"not listed":      func(m *Manifest) { m.Sinks[0].Intervals[0].Hash = Hash{1} },
		"table \"\\xff\"": func(m *Manifest) { m.Source.Partitions[0].Tables[0].Name = "\xff" },
	} {
		m := full()
		spoil(m)
		if _, _, err := m.Encode(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("written: %s: %v", says, err)
		}
	}
}

// TestWhatIsNotValidIsNotRead: also with a checksum that is right.
func TestWhatIsNotValidIsNotRead(t *testing.T) {
	t.Parallel()
	for says, body := range map[string]string{
		"names no stream": `{}`,
		"newer_member":    `{"newer_member":1}`,
		"something":       `{"cluster":"c","stream":1,"stage":1,"checkpoint":1,"tx":1,"task":"source-0"} {}`,
		"Manifest.stream": `{"stream":"1"}`,
		"SHA-256":         `{"files":[{"sha256":"00"}]}`,
	} {
		text := append(head(Version, sha256.Sum256([]byte(body))), body...)
		if _, err := Decode(text); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestTheFirstLineHasOneForm: another spelling of it would be another id of the same manifest.
func TestTheFirstLineHasOneForm(t *testing.T) {
	t.Parallel()
	text := string(encode(t, full()))
	for _, bad := range []string{
		strings.Replace(text, " 1 ", " 01 ", 1), strings.Replace(text, " 1 ", " +1 ", 1), strings.Replace(text, "\n", " \n", 1),
		strings.Replace(text, " 1 ", "  1 ", 1), strings.Replace(text, " 1 ", " 0 ", 1), "\n" + text, "",
	} {
		if _, err := Decode([]byte(bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%.40q: %v", bad, err)
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
	text := encode(f, full())
	f.Add(text)
	f.Add([]byte("PONDAGE-MANIFEST 1 00\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text)
		if err != nil {
			return
		}
		if _, err := Decode(encode(t, m)); err != nil {
			t.Errorf("read, written and refused: %v", err)
		}
	})
}
