package cli_test

import (
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/cli"
)

const (
	sourceSpec = "kind: source\nname: flights\nformat: json\nkafka: {topic: flights}\ntable: origin\nevent_time: ts\n"
	streamSpec = "kind: stream\nname: flights_1h\nsource: flights\nselect:\n  - {expr: count(*), as: count}\nwindow: {kind: interval, size: 1h}\n"
)

func TestApplyMayBeRepeated(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	path := file(t, "all.yaml", streamSpec+"---\n"+sourceSpec) // the stream stands before the source that it reads
	apply := func(path string, more ...string) result {
		return run(t, t.Context(), "", append([]string{"source", "apply", "-f", path, "--api", f.URL}, more...)...)
	}
	apply(path).expect(t, cli.StatusDone, "source flights created\nstream flights_1h created\n")
	if got := f.called(); got != "POST /v1/sources, POST /v1/streams" {
		t.Errorf("calls: %s", got)
	}
	apply(path, "-o", "json").expect(t, cli.StatusDone, `{"kind":"source","name":"flights","outcome":"unchanged"}`+"\n"+`{"kind":"stream","name":"flights_1h","outcome":"unchanged"}`+"\n")
	// Another spelling is the same spec; another spec of a source replaces it, under the version that was read.
	apply(file(t, "b.yaml", strings.Replace(sourceSpec, "{topic: flights}", "\n  topic: \"flights\"", 1))).expect(t, cli.StatusDone, "source flights unchanged\n")
	f.called()
	apply(file(t, "c.yaml", strings.Replace(sourceSpec, "origin", "destination", 1))).expect(t, cli.StatusDone, "source flights replaced\n")
	if got := f.called(); got != "POST /v1/sources, PUT /v1/sources/flights" {
		t.Errorf("calls: %s", got)
	}
	// Another stream of the name is refused; what comes with it is done all the same.
	changed := file(t, "d.yaml", sourceSpec+"---\n"+strings.Replace(streamSpec, "1h}", "2h}", 1))
	got := apply(changed)
	got.expect(t, cli.StatusFailed, "source flights replaced\n")
	got.complains(t, cli.StatusFailed, "there is a stream flights_1h with another spec (stream_exists)", "delete it first")
}

func TestNothingIsCreatedWhileAFileIsWrong(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	good, bad := file(t, "good.yaml", sourceSpec), file(t, "bad.yaml", streamSpec+"slect: []\n")
	got := run(t, t.Context(), "", "stream", "apply", "-f", good, "-f", bad, "--api", f.URL)
	got.complains(t, cli.StatusFailed, bad+":7:8: unknown member", "did you mean select?")
	if calls := f.called(); calls != "" {
		t.Errorf("calls: %s", calls)
	}
	got = run(t, t.Context(), "", "stream", "apply", "-f", bad, "--api", f.URL, "-o", "json")
	got.complains(t, cli.StatusFailed, `"instance":"`+bad+`"`, `"span":{"offset":0,"length":0,"line":7,"column":8}`)
	run(t, t.Context(), "", "stream", "apply", "-f", "/no/such", "--api", f.URL).complains(t, cli.StatusFailed, "no such file")
	run(t, t.Context(), sourceSpec, "source", "apply", "-f", "-", "--api", f.URL).expect(t, cli.StatusDone, "source flights created\n")
}

func TestListGetDelete(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	run(t, t.Context(), sourceSpec+"---\n"+streamSpec, "source", "apply", "-f", "-", "--api", f.URL).expect(t, cli.StatusDone, "source flights created\nstream flights_1h created\n")
	for _, line := range []string{"source list", "source get flights", "stream list", "stream get flights_1h", "source get flights -o yaml"} {
		got := run(t, t.Context(), "", append(strings.Fields(line), "--api", f.URL)...)
		if got.status != cli.StatusDone || got.err != "" {
			t.Errorf("%s: %d %s", line, got.status, got.err)
		}
		golden(t, "output/"+strings.ReplaceAll(line, " ", "_"), got.out)
	}
	if got := run(t, t.Context(), "", "stream", "list", "-o", "json", "--api", f.URL); !strings.HasPrefix(got.out, `{"items":[{"checkpoints"`) || strings.Count(got.out, "\n") != 1 {
		t.Errorf("as JSON: %s", got.out)
	}
	run(t, t.Context(), "", "stream", "get", "x", "--api", f.URL).complains(t, cli.StatusFailed, "there is no x (stream_unknown)", "List them")
	got := run(t, t.Context(), "", "source", "delete", "x", "flights", "--api", f.URL)
	got.expect(t, cli.StatusFailed, "source flights deleted\n") // one that fails does not keep the others
	got.complains(t, cli.StatusFailed, "there is no x (source_unknown)")
	run(t, t.Context(), "", "stream", "delete", "flights_1h", "--api", f.URL).expect(t, cli.StatusDone, "stream flights_1h being dropped\n")
}
