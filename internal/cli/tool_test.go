package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/cli"
)

const decodeData = "../decode/testdata/"

func TestDecodeCheck(t *testing.T) {
	t.Parallel()
	check := func(more ...string) result {
		return run(t, t.Context(), "", append([]string{"decode-check", "--records", decodeData + "bad-records.ndjson", "--expected", decodeData + "bad-records.expected.json"}, more...)...)
	}
	check().expect(t, 0, "114 passed, 0 failed\n")
	check("-o", "json").expect(t, 0, `{"passed":114,"failed":0,"failures":[]}`+"\n")
	records, err := os.ReadFile(decodeData + "bad-records.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	short := file(t, "short.ndjson", string(records[:strings.LastIndex(strings.TrimSpace(string(records)), "\n")+1]))
	got := run(t, t.Context(), "", "decode-check", "--records", short, "--expected", decodeData+"bad-records.expected.json")
	if lines := strings.Split(strings.TrimSpace(got.out), "\n"); got.status != cli.StatusFailed || len(lines) != 2 || lines[1] != "113 passed, 1 failed" {
		t.Errorf("%d: %s %s", got.status, got.out, got.err)
	}
}

// The lines of decode are the sidecar's cases: the same verdicts in the same order.
func TestDecodeShowsVerdicts(t *testing.T) {
	t.Parallel()
	records, err := os.ReadFile(decodeData + "bad-records.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	expected, err := os.ReadFile(decodeData + "bad-records.expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var sidecar struct {
		Source json.RawMessage
		Cases  []struct {
			Line          int
			Verdict, Code string
		}
	}
	if err := json.Unmarshal(expected, &sidecar); err != nil {
		t.Fatal(err)
	}
	whole := run(t, t.Context(), string(records), "decode", "--source", decodeData+"bad-records.expected.json")
	alone := run(t, t.Context(), string(records), "decode", "--source", file(t, "source.json", string(sidecar.Source)), "-o", "json")
	if whole.status != 0 || whole.out != alone.out {
		t.Errorf("a sidecar and its source differ: %s %s", whole.err, alone.err)
	}
	lines := strings.Split(strings.TrimSuffix(whole.out, "\n"), "\n")
	if len(lines) != len(sidecar.Cases) {
		t.Fatalf("%d lines, want %d", len(lines), len(sidecar.Cases))
	}
	for i, line := range lines {
		var got struct {
			Line    int
			Verdict string
			Row     json.RawMessage
			Code    string
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if want := sidecar.Cases[i]; got.Line != want.Line || got.Verdict != want.Verdict || (got.Row != nil) != (want.Verdict == "accept") {
			t.Errorf("line %d: %s, want %s", i+1, line, want.Verdict)
		}
	}
	run(t, t.Context(), "", "decode", "--source", file(t, "x.yaml", "table: a\n")).complains(t, cli.StatusFailed, "event_time")
}

func TestHashes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"LAX -o json":                           `{"hash":1539322037,"vgroup":2}`,
		"LAX":                                   "HASH        VGROUP\n1539322037  2",
		"xxLAX --prefix 2 -o json":              `{"hash":1539322037,"vgroup":2}`,
		"LAXyy --prefix -3 --vgroups 1 -o json": `{"hash":1539322037,"vgroup":0}`,
	} {
		run(t, t.Context(), "", append([]string{"hash"}, strings.Fields(line)...)...).expect(t, 0, strings.TrimSpace(want)+"\n")
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := run(t, t.Context(), "", "version", "-o", "json")
	var v struct{ Version, Go string }
	if err := json.Unmarshal([]byte(got.out), &v); err != nil || v.Version == "" || !strings.HasPrefix(v.Go, "go1") {
		t.Errorf("%s, %v", got.out, err)
	}
}
