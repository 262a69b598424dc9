package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hookReceiver is a receiver of webhooks that answers with a status.
type hookReceiver struct {
	*httptest.Server

	mu     sync.Mutex
	status int
	ids    map[string]string // by event: "open a 1970-01-01T00:00:00.000Z"
	rows   map[string]string
	twice  []string // events that came again under another id
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{status: http.StatusOK, ids: map[string]string{}, rows: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) take(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	w.WriteHeader(r.status)
	if r.status != http.StatusOK {
		return
	}
	var doc struct {
		Events []struct {
			ID, Event string
			Start     string `json:"window_start"`
			Key       map[string]string
			Row       json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		r.twice = append(r.twice, err.Error())
	}
	for _, e := range doc.Events {
		name := e.Event + " " + e.Key["k"] + " " + e.Start
		if before, ok := r.ids[name]; ok && before != e.ID {
			r.twice = append(r.twice, name)
		}
		r.ids[name], r.rows[name] = e.ID, string(e.Row)
	}
}

func (r *hookReceiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// forget forgets what has arrived, but not under which ids.
func (r *hookReceiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.rows)
}

// told lists the events with their rows.
func (r *hookReceiver) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for name, row := range r.rows {
		out = append(out, name+" "+row)
	}
	slices.Sort(out)
	return strings.Join(append(out, r.twice...), "\n")
}

// TestAWebhookIsToldOfWindows: of each that opens and closes, at least once and always under the same id, also when the
// receiver was away and the stream was reset meanwhile.
func TestAWebhookIsToldOfWindows(t *testing.T) {
	t.Parallel()
	c := shared(t)
	hook := newHookReceiver(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"outputs": object{"webhook": object{"url": hook.URL + "/hook", "on": []string{"open", "close"}}}}))
	const zero, ten = "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:10.000Z"
	want := []string{
		"close a " + zero + ` {"k":"a","at":"` + zero + `","n":"2","s":"3"}`, "open a " + ten + " null", "open a " + zero + " null", "open b " + zero + " null",
	}
	if w := c.stream(t, name).Outputs.Webhook; w == nil || w.Target != hook.URL+"/hook" {
		t.Errorf("the stream shows its webhook as %+v", w)
	}
	c.put(t, src, 0, record("a", 1000, 1), record("b", 1000, 5))
	eventually(t, patience, "open windows", func() string {
		if got := hook.told(); strings.Count(got, "open") != 2 {
			return got
		}
		return ""
	})
	hook.answers(http.StatusServiceUnavailable)
	c.put(t, src, 0, record("a", 2000, 2), record("a", 12_000, 1))
	c.accepted(t, name, 4)
	c.must(t, http.MethodPost, "/v1/streams/"+name+"/reset", nil)
	hook.answers(http.StatusOK)
	want = append([]string{want[0], "close b " + zero + ` {"k":"b","at":"` + zero + `","n":"1","s":"5"}`}, want[1:]...)
	eventually(t, patience, "all events", func() string {
		if got := hook.told(); got != strings.Join(want, "\n") {
			return got
		}
		return ""
	})
}

// TestACheckpointWaitsForTheWebhook: what was told before it has arrived, so that a stage that goes on from it need not
// tell it again.
func TestACheckpointWaitsForTheWebhook(t *testing.T) {
	t.Parallel()
	c := shared(t)
	hook := newHookReceiver(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"checkpoint_interval": "100ms", "checkpoint_timeout": "1s", "outputs": object{"webhook": object{"url": hook.URL, "on": []string{"open", "close"}}}}))
	c.checkpoint(t, name)
	hook.answers(http.StatusBadGateway)
	c.put(t, src, 0, record("a", 1000, 1))
	c.accepted(t, name, 1)
	eventually(t, patience, "checkpoints that fail", func() string {
		if n := c.stream(t, name).Checkpoints.FailedInRow; n < 2 {
			return fmt.Sprint(n)
		}
		return ""
	})
	hook.answers(http.StatusOK)
	c.checkpoint(t, name)
	const zero, ten = "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:10.000Z"
	if got := hook.told(); got != "open a "+zero+" null" {
		t.Errorf("at the checkpoint: %s", got)
	}
	hook.forget()
	c.must(t, http.MethodPost, "/v1/streams/"+name+"/reset", nil)
	c.put(t, src, 0, record("a", 11_000, 1))
	want := "close a " + zero + ` {"k":"a","at":"` + zero + `","n":"1","s":"1"}` + "\nopen a " + ten + " null"
	eventually(t, patience, "the rest", func() string {
		if got := hook.told(); got != want {
			return got
		}
		return ""
	})
}
