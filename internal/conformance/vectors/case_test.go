package vectors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/conformance/vectors"
)

// tumbling is a case that passes; tests change it.
const tumbling = `{
 "name": "tumbling", "window": {"kind": "interval", "size_ms": 10000, "sliding_ms": 10000, "offset_ms": 0}, "trigger": "at_once",
 "options": {"ignore_expired": 0, "ignore_update": 0, "watermark_ms": 0}, "partition_by": ["tag"], "tables": {"t1": {"tag": "x"}, "t2": {"tag": null}},
 "select": [{"fn": "_wstart", "as": "_wstart"}, {"fn": "count", "col": "*", "as": "n"}, {"fn": "avg", "col": "d", "as": "d"}, {"fn": "stddev", "col": "a", "as": "sd"}],
 "where": {"col": "a", "op": ">", "value": 0},
 "input": [[1000, {"a": 1, "d": 1}, "t1"], [2000, {"a": 3, "d": 2.5}, "t1"], [11000, {"a": 1, "d": null}, "t2"], [12000, {"a": 0, "d": 7.0}, "t2"]],
 "expected": [{"tag": null, "_wstart": 10000, "n": 1, "d": null, "sd": 0}, {"tag": "x", "_wstart": 0, "n": 2, "d": 1.75, "sd": 1.0000000000001}]
}`

// outcome runs a case that is changed by replacements: old, new, …
func outcome(t *testing.T, replacements ...string) vectors.Outcome {
	t.Helper()
	dir := t.TempDir()
	text := strings.NewReplacer(replacements...).Replace(tumbling)
	if len(replacements) > 0 && text == tumbling {
		t.Fatalf("nothing is replaced by %q", replacements)
	}
	if err := os.WriteFile(filepath.Join(dir, "case.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var outcomes []vectors.Outcome
	if _, err := vectors.Run(t.Context(), dir, vectors.Virtual{}, func(o vectors.Outcome) { outcomes = append(outcomes, o) }); err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 1 {
		t.Fatalf("%d outcomes of one case", len(outcomes))
	}
	return outcomes[0]
}

func TestCaseWithTagsNullsAndFloats(t *testing.T) {
	t.Parallel()
	if o := outcome(t); o.Verdict != vectors.Passed {
		t.Error(o)
	}
}

func TestWrongAnswersFail(t *testing.T) {
	t.Parallel()
	for what, change := range map[string][]string{
		"another count":  {`"n": 2`, `"n": 3`},
		"another float":  {`"d": 1.75`, `"d": 1.76`},
		"a null":         {`"d": 1.75`, `"d": null`},
		"another group":  {`{"tag": "x", "_wstart"`, `{"tag": "y", "_wstart"`},
		"another start":  {`"_wstart": 0`, `"_wstart": 10000`},
		"an extra row":   {`"expected": [`, `"expected": [{"tag": "x", "_wstart": 10000, "n": 1, "d": null, "sd": 0},`},
		"a missing row":  {`{"tag": null, "_wstart": 10000, "n": 1, "d": null, "sd": 0}, `, ``},
		"a column more":  {`"sd": 0}`, `"sd": 0, "q": 1}`},
		"a filter less":  {`"op": ">", "value": 0`, `"op": ">", "value": -1`},
		"an open window": {`"at_once"`, `"window_close"`},
	} {
		if o := outcome(t, change...); o.Verdict != vectors.Failed || o.Reason == "" {
			t.Errorf("%s: %s", what, o)
		}
	}
}

func TestWhatThisVersionCannotRunIsSkippedWithAReason(t *testing.T) {
	t.Parallel()
	for change, reason := range map[[2]string]string{
		{`"kind": "interval"`, `"kind": "session", "gap_ms": 5`}:       "session",
		{`"at_once"`, `{"mode": "max_delay", "delay_ms": 5}`}:          "max_delay",
		{`"watermark_ms": 0`, `"watermark_ms": 0, "created_after": 1`}: "history",
		{`{"a": 1, "d": 1}, "t1"`, `{"$delete": [0, 5]}, "t1"`}:        "deletes",
		{`[2000, {"a": 3`, `[1000, {"a": 3`}:                           "twice",
	} {
		if o := outcome(t, change[0], change[1]); o.Verdict != vectors.Skipped || !strings.Contains(o.Reason, reason) {
			t.Errorf("%v: %s, want a skip for %q", change, o, reason)
		}
	}
	if o := outcome(t, `[2000, {"a": 3`, `[1000, {"a": 3`, `"ignore_update": 0`, `"ignore_update": 1`); o.Verdict != vectors.Passed {
		t.Errorf("the same table and time twice in an append source: %s", o)
	}
}

// TestOutcomesOfTheVectors: nothing of what this version can run is skipped.
func TestOutcomesOfTheVectors(t *testing.T) {
	t.Parallel()
	cases, err := vectors.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, c := range cases {
		interval := c.Window.Kind == "interval" && slices.Contains([]vectors.Trigger{"at_once", "window_close"}, c.Trigger)
		if c.Skip() == "" {
			run++
		} else if interval && c.Options.CreatedAfter == nil && !strings.Contains(c.Skip(), "upsert") {
			t.Errorf("%s is skipped: %s", c.Name, c.Skip())
		}
	}
	if run != 11 {
		t.Errorf("%d vectors can be run, want 11", run)
	}
}

// TestSpecsKeepNumbersByTheirLiteral: a column is float64 when one of its values has a point or an exponent.
func TestSpecsKeepNumbersByTheirLiteral(t *testing.T) {
	t.Parallel()
	c := &vectors.Case{Window: vectors.Window{SizeMs: 10}, Select: []vectors.Item{{Fn: "_wstart"}}}
	if err := json.Unmarshal([]byte(`[[1, {"i": 9007199254740993, "f": 1, "g": 1e3, "none": null}, "t"], [2, {"f": 2.0}, "t"]]`), &c.Input); err != nil {
		t.Fatal(err)
	}
	specs, err := c.Specs("x")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(specs.Source["columns"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"f","type":"float64"},{"name":"g","type":"float64"},{"name":"i","type":"int64"},{"name":"none","type":"int64"}]`
	if string(text) != want {
		t.Errorf("columns %s, want %s", text, want)
	}
	lines, err := c.Lines()
	if err != nil || !strings.Contains(string(lines[0]), "9007199254740993") {
		t.Errorf("lines %s, %v", lines, err)
	}
}
