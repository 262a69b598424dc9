package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/block"
)

var schema = block.Schema{
	{Name: "device", Type: block.String}, {Name: "at", Type: block.Timestamp}, {Name: "_wend", Type: block.Timestamp},
	{Name: "_event", Type: block.String}, {Name: "_row", Type: block.String},
}

// event is a batch of one event of a ten-second window; row "" is none.
func event(device, kind string, start int64, row string) *block.Batch {
	b := block.NewBatch(schema, 1)
	b.Cols[0].AppendString(device)
	b.Cols[1].AppendInt(start)
	b.Cols[2].AppendInt(start + 10_000)
	b.Cols[3].AppendString(kind)
	if row == "" {
		b.Cols[4].AppendNull()
	} else {
		b.Cols[4].AppendString(row)
	}
	return b
}

func TestAnEventHasItsForm(t *testing.T) {
	t.Parallel()
	f := NewForm("c", 7, schema, 2)
	got := string(f.Append([]byte("x"), event("a\"b", "close", 0, `{"device":"a\"b","n":"1"}`), 0))
	const id = "d6a2204446c584b7ecc3d2d7786895af"
	want := `x{"id":"` + f.ID(event("a\"b", "close", 0, ""), 0) + `","event":"close","key":{"device":"a\"b","at":"1970-01-01T00:00:00.000Z"},` +
		`"window_start":"1970-01-01T00:00:00.000Z","window_end":"1970-01-01T00:00:10.000Z","row":{"device":"a\"b","n":"1"}}`
	if got != want || !json.Valid([]byte(got[1:])) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := f.ID(event("a\"b", "close", 0, ""), 0); got != id {
		t.Errorf("the id is %s, and was %s before: receivers keep it", got, id)
	}
}

// TestIDsTellEventsApart: by stream, key, window and event; never by the row.
func TestIDsTellEventsApart(t *testing.T) {
	t.Parallel()
	f := NewForm("c", 7, schema, 2)
	base := f.ID(event("a", "close", 0, `{"n":1}`), 0)
	if again := NewForm("c", 7, schema, 2).ID(event("a", "close", 0, `{"n":2}`), 0); again != base {
		t.Errorf("%s, then %s", base, again)
	}
	seen := map[string]string{base: "base"}
	for name, id := range map[string]string{
		"cluster": NewForm("d", 7, schema, 2).ID(event("a", "close", 0, ""), 0), "stream": NewForm("c", 8, schema, 2).ID(event("a", "close", 0, ""), 0),
		"group": f.ID(event("b", "close", 0, ""), 0), "event": f.ID(event("a", "open", 0, ""), 0), "window": f.ID(event("a", "close", 10_000, ""), 0),
	} {
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same id", name, other)
		}
		seen[id] = name
	}
}

// receiver answers with status, and keeps the last request.
type receiver struct {
	*httptest.Server
	status int
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	r := &receiver{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.header = req.Header
		r.body, _ = io.ReadAll(req.Body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func hook(t *testing.T, url, secret string) *Hook {
	t.Helper()
	h, err := New(Config{Cluster: "c", Stream: "s", URL: url, Secret: secret, Timeout: time.Second, Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestARequestIsSigned(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"text": "hunter2", "base64": "whsec_" + base64.StdEncoding.EncodeToString([]byte("hunter2"))} {
		r := newReceiver(t, 204)
		h := hook(t, r.URL+"/hook", secret)
		if err := h.Send(t.Context(), []string{"i1", "i2"}, [][]byte{[]byte(`{"id":"i1"}`), []byte(`{"id":"i2"}`)}); err != nil {
			t.Fatal(err)
		}
		if want := `{"cluster":"c","stream":"s","events":[{"id":"i1"},{"id":"i2"}]}`; string(r.body) != want || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %v", name, r.body, r.header)
		}
		mac := hmac.New(sha256.New, []byte("hunter2"))
		io.WriteString(mac, r.header.Get("webhook-id")+"."+r.header.Get("webhook-timestamp")+"."+string(r.body))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("webhook-signature") != want {
			t.Errorf("%s: signature %s, want %s", name, r.header.Get("webhook-signature"), want)
		}
		first := r.header.Get("webhook-id")
		if err := h.Send(t.Context(), []string{"i1", "i2"}, nil); err != nil || r.header.Get("webhook-id") != first {
			t.Errorf("%s: sent again as %s: %v", name, r.header.Get("webhook-id"), err)
		}
		if err := h.Send(t.Context(), []string{"i1"}, nil); err != nil || r.header.Get("webhook-id") != "i1" {
			t.Errorf("%s: one alone is %s: %v", name, r.header.Get("webhook-id"), err)
		}
	}
	r := newReceiver(t, 200)
	if err := hook(t, r.URL, "").Send(t.Context(), []string{"i"}, nil); err != nil || r.header.Get("webhook-signature") != "" {
		t.Errorf("without a secret: %v %v", r.header, err)
	}
}

func TestAnswersHaveAMeaning(t *testing.T) {
	t.Parallel()
	for status, refused := range map[int]bool{302: false, 307: false, 400: false, 401: false, 404: false, 410: false, 413: true, 422: true, 429: false, 500: false} {
		r := newReceiver(t, status)
		err := hook(t, r.URL, "").Send(t.Context(), []string{"i"}, nil)
		var r4 *Refused
		if err == nil || errors.As(err, &r4) != refused {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestOnlyAllowedHostsAreCalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts string
		url   string
		want  bool
	}{
		{"", "http://anything/", true}, {"a.example", "https://a.example/x", true}, {"a.example", "https://A.Example:8443/x", true}, {"a.example", "https://b.a.example/", false},
		{"a.example", "https://xa.example/", false}, {"*.example", "https://a.b.example/", true}, {"*.example", "https://example/", false}, {"a:443", "https://a/", true}, {"a:443", "http://a/", false},
		{"a:80", "http://a/", true}, {"a:80 b", "http://b:81/", true}, {"10.0.0.1", "http://10.0.0.1/", true}, {"a", "http://a@b/", false},
	} {
		_, err := New(Config{URL: c.url, Hosts: strings.Fields(c.hosts)})
		if (err == nil) != c.want || err != nil && !errors.Is(err, ErrNotAllowed) {
			t.Errorf("hosts %q, %s: %v", c.hosts, c.url, err)
		}
	}
}

// TestErrorsDoNotShowTheAddress: it may hold a secret.
func TestErrorsDoNotShowTheAddress(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then nobody sees that the client has gone
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for name, url := range map[string]string{"refused": "http://127.0.0.1:1/hunter2", "silent": silent.URL + "/hunter2", "unknown": "http://nosuch.invalid/hunter2"} {
		ctx := ctx
		if name == "refused" {
			ctx = t.Context()
		}
		if err := hook(t, url, "").Send(ctx, []string{"i"}, nil); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []Config{{URL: "hunter2.com/x"}, {URL: "ftp://h/hunter2"}, {URL: "http://h/", Secret: "whsec_hunter2?"}, {URL: "http://a b/hunter2"}} {
		if _, err := New(c); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", c.URL, err)
		}
	}
}
