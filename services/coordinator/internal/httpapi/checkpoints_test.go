package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

const reportsJSON = `{"cluster_id":"c-1","node":"n1","instance":"12-0a1b2c3d","reports":[
{"stream_id":"7","stage":"2","checkpoint":"12","tx":"9007199254740993","task":"agg-3","outcome":"done","cause":null,
 "manifest":"ab00000000000000000000000000000000000000000000000000000000000000","bytes_full":"10","bytes_incremental":"4",
 "align_ms":"3","sync_ms":"1","async_ms":"1000","sinks":[{"kind":"kafka","marker":"11"}]},
{"stream_id":"7","stage":"2","checkpoint":"12","tx":"9007199254740993","task":"source-1","outcome":"failed","cause":{"code":"disk_full","message":"no space"},
 "manifest":null,"bytes_full":"0","bytes_incremental":"0","align_ms":"0","sync_ms":"0","async_ms":"0","sinks":[]}]}`

func TestReportsReachControlWhole(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	if w := call(s, "POST", "/v1/checkpoint-reports", reportsJSON); w.Code != 200 || w.Body.String() != `{"term":"4"}`+"\n" {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	attempt := control.Attempt{Stream: 7, Stage: 2, Checkpoint: 12, Tx: 9007199254740993}
	want := control.PartReports{Cluster: "c-1", Node: "n1", Instance: ident.Instance{Counter: 12, Random: 0x0a1b2c3d}, Reports: []control.PartReport{
		{
			Attempt: attempt, Task: ident.Task{Level: ident.LevelAgg, VGroup: 3}, Manifest: manifest.Hash{0xab},
			Cost:  control.Cost{BytesFull: 10, BytesIncremental: 4, Align: 3 * time.Millisecond, Sync: time.Millisecond, Async: time.Second},
			Sinks: []control.SinkMarker{{Kind: "kafka", Marker: 11}},
		},
		{Attempt: attempt, Task: ident.Task{Level: ident.LevelSource, VGroup: 1}, Failure: &control.Cause{Code: "disk_full", Message: "no space"}},
	}}
	if diff := cmp.Diff(want, app.reports); diff != "" {
		t.Fatal(diff)
	}
	for what, change := range map[string][3]string{
		"done without a manifest": {`"manifest":"ab00000000000000000000000000000000000000000000000000000000000000"`, `"manifest":null`, "/reports/0/outcome"},
		"failed without a cause":  {`"cause":{"code":"disk_full","message":"no space"}`, `"cause":null`, "/reports/1/outcome"},
		"another outcome":         {`"outcome":"done"`, `"outcome":"perhaps"`, "/reports/0/outcome"},
		"no such task":            {"agg-3", "agg-99999", "/reports/0/task"},
		"less than nothing":       {`"sync_ms":"1"`, `"sync_ms":"-1"`, "/reports/0/sync_ms"},
	} {
		w := call(s, "POST", "/v1/checkpoint-reports", strings.Replace(reportsJSON, change[0], change[1], 1))
		if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 400 || d.Errors[0].Pointer != change[2] {
			t.Errorf("%s: status %d, %+v", what, w.Code, d)
		}
	}
}

func TestGoingBackIsAskedForInWords(t *testing.T) {
	t.Parallel()
	app := newFake()
	s := newServer(t, app, nil)
	for _, c := range []struct {
		path, body string
		status     int
		want       control.GoBack
	}{
		{"recover", `{"checkpoint":"9"}`, 202, control.GoBack{Checkpoint: 9}},
		{"recover", `{"checkpoint":"0","accept_duplicates":true}`, 202, control.GoBack{Accept: control.AcceptDuplicates}},
		{"recover", `{"checkpoint":"-1"}`, 400, control.GoBack{}},
		{"recover", `{"checkpoint":9}`, 400, control.GoBack{}},
		{"recover", `{}`, 400, control.GoBack{}},
		{"recover", ``, 400, control.GoBack{}},
		{"start", `{"from_savepoint":"before_upgrade","accept_duplicates":true}`, 202, control.GoBack{Accept: control.AcceptDuplicates}},
		{"start", `{"from_savepoint":"No Name"}`, 400, control.GoBack{}},
		{"start", `{"savepoint":"x"}`, 400, control.GoBack{}},
	} {
		app.back, app.action = control.GoBack{}, ""
		w := call(s, "POST", "/v1/streams/flights_1h/"+c.path, c.body, "Idempotency-Key", "k", "If-Match", `"12"`)
		if w.Code != c.status || app.back != c.want {
			t.Errorf("%s %s: status %d, %+v", c.path, c.body, w.Code, app.back)
		}
		if w.Code == 202 && app.request != (control.Request{IdempotencyKey: "k", IfMatch: 12}) {
			t.Errorf("%s %s: %+v", c.path, c.body, app.request)
		}
	}
	for _, body := range []string{"", "{}"} {
		if w := call(s, "POST", "/v1/streams/flights_1h/start", body); w.Code != 202 || app.action != "start" {
			t.Errorf("start %q: status %d, action %s", body, w.Code, app.action)
		}
	}
}

func TestWhatIsAskedForCanBePolled(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), nil)
	for path, body := range map[string]string{
		"/v1/streams/flights_1h/checkpoints": "", "/v1/streams/flights_1h/savepoints": `{"name":"before_upgrade"}`,
	} {
		at := call(s, "POST", path, body).Header().Get("Location")
		if w := call(s, "GET", at, ""); w.Code != 200 {
			t.Errorf("%s: %q: status %d: %s", path, at, w.Code, w.Body)
		}
	}
	w := call(s, "GET", "/v1/streams/flights_1h/checkpoints/13", "")
	if d := problemOf(t, w.Header().Get("Content-Type"), w.Body.Bytes()); w.Code != 404 || d.Code != "checkpoint_unknown" {
		t.Errorf("status %d, %+v", w.Code, d)
	}
	if w := call(s, "GET", "/v1/streams/flights_1h/checkpoints/twelve", ""); w.Code != 400 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
