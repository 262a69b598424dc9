package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/config"
)

func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func newClient(t *testing.T, url string, change ...func(*config.Client)) *client.Client {
	t.Helper()
	cfg := config.Client{API: url}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fail(w http.ResponseWriter, status int, code, retryAfter string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"x","title":"t","status":%d,"code":%q,"detail":"told","retryable":%t,"trace_id":"7"}`, status, code, retryAfter != "")
}

// The token goes to the coordinator and to the worker that it redirects to, also on another host.
func TestTheTokenFollowsTheRedirect(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Accept") != "text/csv" {
			fail(w, http.StatusUnauthorized, "unauthenticated", "")
			return
		}
		_, _ = io.WriteString(w, "rows of "+r.URL.Path)
	})
	other := strings.Replace(worker, "127.0.0.1", "localhost", 1)
	coordinator := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
	})
	c := newClient(t, coordinator, func(cfg *config.Client) { cfg.Token = config.Secret{From: config.SecretFile, Name: file} })
	body, _, err := client.Read(c.GetResults(t.Context(), "q", &api.GetResultsParams{}, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/csv")
		return nil
	}))
	if err != nil || string(body) != "rows of /v1/streams/q/results" {
		t.Errorf("%q, %v", body, err)
	}
	if at, err := c.IngestURL(t.Context(), "s"); err != nil || at != other+"/v1/ingest/s" {
		t.Errorf("ingest at %q, %v", at, err)
	}
	if _, err := client.New(config.Client{API: coordinator, Token: config.Secret{From: config.SecretFile, Name: file + ".gone"}}); err == nil {
		t.Error("a token that is not there is no error")
	}
}

// What a moment may cure is repeated, with the same key and body; what it cannot, is not.
func TestRequestsAreRepeatedWithTheirKey(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	keys := make(chan string, 10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		keys <- r.Header.Get("Idempotency-Key") + string(body)
		switch attempts.Add(1) {
		case 1, 2:
			fail(w, http.StatusServiceUnavailable, "not_leader", "0")
		case 3:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{}`)
		default:
			fail(w, http.StatusServiceUnavailable, "metastore_went_back", "")
		}
	})
	c := newClient(t, url)
	if _, _, err := client.Read(c.CreateSource(t.Context(), &api.CreateSourceParams{}, []byte(`{"name":"s"}`))); err != nil {
		t.Fatal(err)
	}
	first := <-keys
	if second, third := <-keys, <-keys; len(first) < 20 || second != first || third != first {
		t.Errorf("keys: %s, %s, %s", first, second, third)
	}
	_, _, err := client.Read(c.CreateSource(t.Context(), &api.CreateSourceParams{}, []byte(`{"name":"s"}`)))
	if !client.HasCode(err, "metastore_went_back") || attempts.Load() != 4 {
		t.Errorf("%v after %d attempts", err, attempts.Load())
	}
	if next := <-keys; next == first {
		t.Error("another request has the same key")
	}
}

func TestErrorsAreProblems(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/html") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>")
			return
		}
		fail(w, http.StatusNotFound, "stream_unknown", "")
	})
	c := newClient(t, url)
	_, _, err := client.Read(c.GetStream(t.Context(), "q"))
	var e *client.Error
	if !errors.As(err, &e) || e.Doc.Detail != "told" || e.Doc.TraceID != "7" || e.Doc.Hint == "" {
		t.Errorf("an answer: %+v", err)
	}
	if _, _, err = client.Read(c.GetStream(t.Context(), "html")); !client.HasCode(err, client.CodeUnreachable) || !strings.Contains(err.Error(), "no answer of Pondage") {
		t.Errorf("something else answers: %v", err)
	}
	_, _, err = client.Read(newClient(t, "http://127.0.0.1:1").GetStream(t.Context(), "q"))
	if !client.HasCode(err, client.CodeUnreachable) || !strings.Contains(err.Error(), "http://127.0.0.1:1 does not answer") {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestListsAreReadToTheirEndOrLimit(t *testing.T) {
	t.Parallel()
	const total = 2500
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var from, size int
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from)
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &size)
		to, next := min(from+size, total), "null"
		if to < total {
			next = fmt.Sprintf(`"%d"`, to)
		}
		var items []string
		for i := from; i < to; i++ {
			items = append(items, fmt.Sprintf(`{"n":%d}`, i))
		}
		fmt.Fprintf(w, `{"items":[%s],"next_cursor":%s}`, strings.Join(items, ","), next)
	})
	c := newClient(t, url)
	for limit, want := range map[int]int{0: total, 10: 10, 1500: 1500, 9999: total} {
		items, err := client.Pages(limit, func(size *int32, cursor *string) (*http.Response, error) {
			return c.ListSources(t.Context(), &api.ListSourcesParams{Limit: size, Cursor: cursor})
		})
		if err != nil || len(items) != want || string(items[want-1]) != fmt.Sprintf(`{"n":%d}`, want-1) {
			t.Errorf("limit %d: %d items, %v", limit, len(items), err)
		}
	}
}

func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<17)
	events := client.NewEvents(strings.NewReader(": hello\r\n\r\nid: 1/2\r\nevent: row\r\ndata: {\"a\":1}\r\n\r\n: ping\n\nevent: gap\ndata: a\ndata:b\n\nevent: none\n\ndata: " + long + "\nid: 3\n\nevent: row\ndata: cut off"))
	for _, want := range []client.Event{{ID: "1/2", Name: "row", Data: `{"a":1}`}, {ID: "1/2", Name: "gap", Data: "a\nb"}, {ID: "3", Data: long}} {
		if got, err := events.Next(); err != nil || got != want {
			t.Errorf("got %.60v, %v; want %.60v", got, err, want)
		}
	}
	if e, err := events.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("an event that was cut off: %v, %v", e, err)
	}
}
