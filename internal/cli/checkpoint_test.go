package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/problem"
)

// checkpoints serves the checkpoints and savepoints of flights_1h. One that is asked for has the states in turn.
func (f *fakeAPI) checkpoints(states ...string) {
	begun, ended := someTime.Add(time.Second), someTime.Add(1250*time.Millisecond)
	next := func() api.Checkpoint {
		k := api.Checkpoint{Stream: "flights_1h", Checkpoint: 12, Kind: "manual", State: states[0], Stage: 3, AskedAt: someTime, BegunAt: &begun, EndedAt: &ended, DeadlineMs: 60_000,
			BytesFull: 4096, BytesIncremental: 1024, AlignMs: 5, SyncMs: 2, AsyncMs: 240}
		if k.State == "failed" {
			k.Error = &common.Cause{Code: "disk_full", Message: "agg-3: no space"}
		}
		if len(states) > 1 {
			states = states[1:]
		}
		return k
	}
	savepoint := func(k api.Checkpoint) api.Savepoint {
		return api.Savepoint{Name: "before_upgrade", Stream: "flights_1h", State: k.State, CreatedAt: someTime, Checkpoint: k}
	}
	f.mux.HandleFunc("POST /v1/streams/{name}/checkpoints", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusAccepted, next()) })
	f.mux.HandleFunc("GET /v1/streams/{name}/checkpoints/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "12" {
			problem.Write(w, r, problem.New(problem.CodeCheckpointUnknown, "there is none"))
			return
		}
		k := next()
		k.Tasks = []api.CheckpointTask{{Task: "agg-3", Node: "n1", Manifest: "ab12", BytesFull: 4096, BytesIncremental: 1024, AlignMs: 5, SyncMs: 2, AsyncMs: 240}}
		answer(w, http.StatusOK, k)
	})
	f.mux.HandleFunc("GET /v1/checkpoints", func(w http.ResponseWriter, r *http.Request) {
		if s := r.URL.Query().Get("stream"); s != "" && s != "flights_1h" {
			problem.Write(w, r, problem.New(problem.CodeStreamUnknown, "there is no %s", s))
			return
		}
		old := next()
		old.Checkpoint, old.Kind, old.Abandoned = 11, "interval", true
		answer(w, http.StatusOK, api.CheckpointPage{Items: []api.Checkpoint{next(), old}})
	})
	f.mux.HandleFunc("POST /v1/streams/{name}/savepoints", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusAccepted, savepoint(next())) })
	f.mux.HandleFunc("GET /v1/streams/{name}/savepoints", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.SavepointPage{Items: []api.Savepoint{savepoint(next())}})
	})
	f.mux.HandleFunc("DELETE /v1/streams/{name}/savepoints/{savepoint}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("savepoint") != "before_upgrade" {
			problem.Write(w, r, problem.New(problem.CodeSavepointUnknown, "there is no %s", r.PathValue("savepoint")))
			return
		}
		answer(w, http.StatusNoContent, nil)
	})
}

func TestCheckpointsAreShown(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"checkpoint list", "checkpoint get flights_1h 12", "savepoint list flights_1h"} {
		f := newAPI(t)
		f.checkpoints("failed", "complete")
		got := run(t, t.Context(), "", append(strings.Fields(line), "--api", f.URL)...)
		if got.status != cli.StatusDone || got.err != "" {
			t.Errorf("%s: %d %s", line, got.status, got.err)
		}
		golden(t, "output/"+strings.ReplaceAll(line, " ", "_"), got.out)
	}
	f := newAPI(t)
	f.checkpoints("complete")
	if got := run(t, t.Context(), "", "checkpoint", "list", "flights_1h", "-o", "json", "--api", f.URL); !strings.HasPrefix(got.out, `{"items":[{`) {
		t.Errorf("as JSON: %s", got.out)
	}
	run(t, t.Context(), "", "checkpoint", "list", "x", "--api", f.URL).complains(t, cli.StatusFailed, "there is no x (stream_unknown)")
	run(t, t.Context(), "", "checkpoint", "get", "flights_1h", "13", "--api", f.URL).complains(t, cli.StatusFailed, "checkpoint_unknown")
	run(t, t.Context(), "", "checkpoint", "get", "flights_1h", "newest", "--api", f.URL).complains(t, cli.StatusUsage, `"newest" is no number`)
}

func TestACheckpointIsTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line   string
		states []string
		status int
		out    string
	}{
		{"checkpoint take flights_1h", []string{"waiting", "failed"}, cli.StatusDone, "checkpoint flights_1h/12 waiting\n"},
		{"checkpoint take flights_1h --wait", []string{"waiting", "running", "complete"}, cli.StatusDone, "checkpoint flights_1h/12 complete\n"},
		{"checkpoint take flights_1h --wait", []string{"running", "failed"}, cli.StatusFailed, ""},
		{"checkpoint take flights_1h --wait --timeout 1ms", []string{"running"}, cli.StatusFailed, ""},
		{"savepoint create flights_1h before_upgrade", []string{"waiting"}, cli.StatusDone, "savepoint before_upgrade waiting: checkpoint 12\n"},
		{"savepoint create flights_1h before_upgrade --wait", []string{"waiting", "complete"}, cli.StatusDone, "savepoint before_upgrade complete: checkpoint 12\n"},
	} {
		f := newAPI(t)
		f.checkpoints(c.states...)
		got := run(t, t.Context(), "", append(strings.Fields(c.line), "--api", f.URL)...)
		got.expect(t, c.status, c.out)
		if c.status == cli.StatusFailed && !strings.Contains(got.err, "no space") && !strings.Contains(got.err, "not complete in time") {
			t.Errorf("%s: %s", c.line, got.err)
		}
	}
	f := newAPI(t)
	f.checkpoints("complete")
	got := run(t, t.Context(), "", "savepoint", "delete", "flights_1h", "x", "before_upgrade", "--api", f.URL)
	got.expect(t, cli.StatusFailed, "savepoint before_upgrade deleted\n") // one that fails does not keep the others
	got.complains(t, cli.StatusFailed, "there is no x (savepoint_unknown)")
}

func TestStreamsGoBack(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	var sent map[string]any
	take := func(w http.ResponseWriter, r *http.Request) {
		sent = nil
		_ = json.NewDecoder(r.Body).Decode(&sent)
		if r.PathValue("name") == "exact" && sent["accept_duplicates"] != true {
			problem.Write(w, r, problem.New(problem.CodeDuplicatesPossible, "some may be seen twice"))
			return
		}
		answer(w, http.StatusAccepted, aStream(r.PathValue("name"), nil))
	}
	f.mux.HandleFunc("POST /v1/streams/{name}/start", take)
	f.mux.HandleFunc("POST /v1/streams/{name}/recover", take)
	call := func(line string) result {
		return run(t, t.Context(), "", append(strings.Fields("stream "+line), "--api", f.URL)...)
	}
	call("start flights_1h").expect(t, cli.StatusDone, "stream flights_1h to be started\n")
	call("start flights_1h --from-savepoint before_upgrade").expect(t, cli.StatusDone, "stream flights_1h to be started\n")
	if sent["from_savepoint"] != "before_upgrade" || sent["accept_duplicates"] != false {
		t.Errorf("sent %v", sent)
	}
	call("start flights_1h --accept-duplicates").complains(t, cli.StatusUsage, "goes with --from-savepoint")
	call("recover flights_1h 12").expect(t, cli.StatusDone, "stream flights_1h to go on from checkpoint 12\n")
	if sent["checkpoint"] != "12" {
		t.Errorf("sent %v", sent)
	}
	call("recover exact 0").complains(t, cli.StatusFailed, "duplicates_possible", "accept_duplicates")
	call("recover exact 0 --accept-duplicates").expect(t, cli.StatusDone, "stream exact to go on from checkpoint 0\n")
	call("recover flights_1h yesterday").complains(t, cli.StatusUsage, "no number")
}
