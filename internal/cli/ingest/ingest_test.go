package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/cli/ingest"
)

func batches(t *testing.T, in string, most int) []string {
	t.Helper()
	b, err := ingest.NewBatches(strings.NewReader(in), most)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for {
		batch, err := b.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d:%s", batch.Records, batch.Body))
	}
}

func pack(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRecordsAreLinesOrElements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"lines", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", "2:{\"a\":1}\n{\"a\":2}\n|1:{\"a\":3}\n"},
		{"the last line needs no end", "1\n2", "2:1\n2\n"},
		{"empty lines and CR are records as they are", "\n a\r\n", "2:\n a\r\n"},
		{"packed", pack(t, "1\n2\n3\n"), "2:1\n2\n|1:3\n"},
		{"an array", " [ {\"a\": 9007199254740993},\n 2, \"x\\ny\" ]", "2:{\"a\":9007199254740993}\n2\n|1:\"x\\ny\"\n"},
		{"an empty array", "[]", ""},
		{"nothing", "", ""},
	} {
		if got := strings.Join(batches(t, c.in, 2), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1<<20)
	got := batches(t, strings.Repeat(line+"\n", 9), 100)
	if len(got) != 3 || !strings.HasPrefix(got[0], "4:") {
		t.Errorf("%d batches, the first %.3s", len(got), got[0])
	}
}

// A damaged input: what is before the damage is sent, and the error tells where it is.
func TestADamagedInput(t *testing.T) {
	t.Parallel()
	w := &worker{}
	server := httptest.NewServer(w)
	defer server.Close()
	for name, in := range map[string]io.Reader{
		"truncated gzip":  strings.NewReader(pack(t, strings.Repeat("abcdefgh\n", 20000))[:60]),
		"truncated array": strings.NewReader(`[1,2,`),
		"read error":      io.MultiReader(strings.NewReader("1\n2\n"), iotest.ErrReader(errors.New("disk"))),
	} {
		b, err := ingest.NewBatches(in, 1000)
		if err != nil {
			t.Fatal(err)
		}
		done, err := ingest.Send(t.Context(), b, config(server.URL))
		if err == nil || done.Records == 0 || !strings.Contains(err.Error(), fmt.Sprintf("record %d", done.Records+1)) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		if truncated := strings.HasPrefix(name, "truncated"); truncated != strings.Contains(err.Error(), "not whole") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// worker is an ingest operation that fails as told, and keeps what it took by key.
type worker struct {
	mu    sync.Mutex
	fail  []func(http.ResponseWriter) // one an attempt
	keys  []string                    // of all attempts
	taken strings.Builder
}

func (w *worker) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	w.keys = append(w.keys, r.Header.Get("Idempotency-Key"))
	if len(w.fail) > 0 {
		fail := w.fail[0]
		w.fail = w.fail[1:]
		if fail != nil {
			fail(out)
			return
		}
	}
	w.taken.Write(body)
	fmt.Fprintf(out, `{"accepted":%d}`, bytes.Count(body, []byte("\n")))
}

func answer(status int, retryAfter, code string, retryable bool) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"x","title":"t","status":%d,"code":%q,"detail":"d","retryable":%t}`, status, code, retryable)
	}
}

func config(url string) ingest.Config {
	return ingest.Config{HTTP: http.DefaultClient, Key: "k", Patience: time.Minute, Worker: func(context.Context) (string, error) { return url, nil }}
}

func send(t *testing.T, in string, c ingest.Config) (ingest.Progress, error) {
	t.Helper()
	b, err := ingest.NewBatches(strings.NewReader(in), 1)
	if err != nil {
		t.Fatal(err)
	}
	return ingest.Send(t.Context(), b, c)
}

func TestABatchIsRepeatedWithItsKeyUntilItIsTaken(t *testing.T) {
	t.Parallel()
	w := &worker{fail: []func(http.ResponseWriter){
		nil, answer(429, "0", "overloaded", true), answer(503, "0", "broker_unreachable", true),
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, // the connection breaks: net/http repeats what has a key where it was used before
	}}
	server := httptest.NewServer(w)
	defer server.Close()
	asked := 0
	c := config(server.URL)
	c.Worker = func(context.Context) (string, error) { asked++; return server.URL, nil }
	var waits int
	c.Progress = func(p ingest.Progress) {
		if p.Waiting != nil {
			waits++
		}
	}
	done, err := send(t, "1\n2\n3\n", c)
	if err != nil {
		t.Fatal(err)
	}
	if w.taken.String() != "1\n2\n3\n" {
		t.Errorf("taken: %q", w.taken.String())
	}
	if got, want := strings.Join(w.keys, " "), "k-1 k-2 k-2 k-2 k-2 k-3"; got != want {
		t.Errorf("keys %s, want %s", got, want)
	}
	if done.Retries != 2 && done.Retries != 3 {
		t.Errorf("%d retries: two for the answers, and one at most for the connection", done.Retries)
	}
	if done.Records != 3 || done.Batches != 3 || done.Bytes != 6 || waits != int(done.Retries) {
		t.Errorf("%+v, told %d waits", done, waits)
	}
	if asked != 1+waits {
		t.Errorf("the worker was asked for %d times: at the beginning and after each failure", asked)
	}
}

func TestWhatRepeatingCannotCureEndsIt(t *testing.T) {
	t.Parallel()
	w := &worker{fail: []func(http.ResponseWriter){nil, answer(413, "", "record_too_large", false)}}
	server := httptest.NewServer(w)
	defer server.Close()
	done, err := send(t, "1\n2\n3\n", config(server.URL))
	if err == nil || !strings.Contains(err.Error(), "record_too_large") || done.Records != 1 || len(w.keys) != 2 {
		t.Errorf("%+v, %v, %d attempts", done, err, len(w.keys))
	}
}

// Patience and pace are times: they are tested on a clock of the test's own, over a transport without a network.
func TestPatienceAndPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &worker{}
		c := config("http://worker")
		c.HTTP = &http.Client{Transport: direct{w}}
		c.Rate = 10
		began := time.Now()
		if done, err := send(t, strings.Repeat("x\n", 31), c); err != nil || done.Records != 31 {
			t.Errorf("%+v, %v", done, err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("31 records at 10 a second took %s", took)
		}
		for range 1000 {
			w.fail = append(w.fail, answer(503, "1", "broker_unreachable", true))
		}
		c.Patience, c.Rate = 30*time.Second, 0
		began = time.Now()
		if _, err := send(t, "1\n", c); err == nil || !strings.Contains(err.Error(), "given up after 30s") {
			t.Errorf("error: %v", err)
		}
		if took := time.Since(began); took < 30*time.Second || took > 40*time.Second {
			t.Errorf("given up after %s", took)
		}
	})
}

// direct serves requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}
