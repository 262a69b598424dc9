package pipeline_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/rowjson"
)

// listener keeps window events as lines, and results.
type listener struct {
	sink
	events []string
}

// Events implements pipeline.EventTaker.
func (l *listener) Events(b *block.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	encoder := rowjson.NewEncoder(b.Schema)
	for i := range b.Rows() {
		l.events = append(l.events, string(encoder.AppendRow(nil, b.Cols, i)))
	}
	return nil
}

// TestWindowsAreTold: whatever the trigger, with the row where it has one, by the names of the result.
func TestWindowsAreTold(t *testing.T) {
	t.Parallel()
	for _, trigger := range []string{"window_close", "at_once"} {
		p := newPlan(t, `select: [{expr: "_wstart", as: at}, {expr: "sum(100 / d)", as: q}, {expr: tbname, as: device}, {expr: "100 / min(v)", as: m}], partition_by: [tbname], window: {kind: interval, size: 10s},
			watermark: 0s, trigger: `+trigger+`, outputs: {webhook: {url: "http://localhost/", on: [open, close]}}`)
		k := newTask(t, p, pipeline.SourceOptions{})
		l := &listener{sink: sink{encoder: rowjson.NewEncoder(p.Result.Fields())}}
		side, err := pipeline.NewReceiving(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		k.take(row{ts: 1_000, table: "a", v: 5, d: 1}, row{ts: 2_000, table: "b", v: 0, d: 1}, row{ts: 3_000, table: "c", v: 10, d: 1}, row{ts: 12_000, table: "a", v: 1, d: 1})
		k.source.Flush(func(_ ident.VGroup, b *block.Batch) {
			if err := side.Take(b); err != nil {
				t.Error(err)
			}
		})
		if err := side.Settle(l); err != nil {
			t.Error(err)
		}
		if err := side.Advance(ident.EventMs(10_000), l); err != nil {
			t.Error(err)
		}
		const first, end, next = `"1970-01-01T00:00:00.000Z"`, `"1970-01-01T00:00:10.000Z"`, `"1970-01-01T00:00:20.000Z"`
		event := func(kind, device, at, end, row string) string {
			return `{"device":"` + device + `","at":` + at + `,"_wend":` + end + `,"_event":"` + kind + `","_row":` + row + `}`
		}
		result := func(device, m string) string {
			return strconv.Quote(`{"at":` + first + `,"q":"100","device":"` + device + `","m":"` + m + `"}`)
		}
		want := []string{
			event("open", "a", first, end, "null"), event("open", "b", first, end, "null"), event("open", "c", first, end, "null"), event("open", "a", end, next, "null"),
			event("close", "a", first, end, result("a", "20")), event("close", "b", first, end, "null"), event("close", "c", first, end, result("c", "10")), // that of b has no value of m
		}
		slices.Sort(want)
		slices.Sort(l.events)
		if !slices.Equal(l.events, want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", trigger, strings.Join(l.events, "\n  "), strings.Join(want, "\n  "))
		}
		if n := strings.Count(strings.Join(l.lines, "\n"), `"device":`); trigger == "window_close" && (len(l.lines) != 3 || n != 2) {
			t.Errorf("results: %q", l.lines)
		}
	}
}
