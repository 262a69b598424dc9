package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/problem"
)

// worker adds a worker to the fake: data operations redirect there.
func (f *fakeAPI) worker(t *testing.T, h http.HandlerFunc) {
	t.Helper()
	w := httptest.NewServer(h)
	t.Cleanup(w.Close)
	for _, pattern := range []string{"GET /v1/streams/{name}/results", "GET /v1/streams/{name}/results/live", "POST /v1/ingest/{source}", "GET /v1/sources/{name}/dead-letters", "POST /v1/sources/{name}/dead-letters/replay"} {
		f.mux.HandleFunc(pattern, func(out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, w.URL+r.URL.String(), http.StatusTemporaryRedirect)
		})
	}
}

func TestResultsInEveryForm(t *testing.T) {
	t.Parallel()
	const ndjson = `{"origin":"LAX","count":"9007199254740993","avg":1.5}` + "\n" + `{"origin":"SFO","count":"2","avg":null}` + "\n"
	f := newAPI(t)
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("filter") == "false":
		case r.Header.Get("Accept") == "text/csv":
			_, _ = io.WriteString(w, "origin,count\nLAX,9007199254740993\n")
		case q.Get("order") == "avg desc" && q.Get("limit") == "1":
			_, _ = io.WriteString(w, ndjson[:strings.Index(ndjson, "\n")+1])
		default:
			_, _ = io.WriteString(w, ndjson)
		}
	})
	results := func(more ...string) result {
		return run(t, t.Context(), "", append([]string{"results", "q", "--api", f.URL}, more...)...)
	}
	results().expect(t, 0, "ORIGIN  COUNT             AVG\nLAX     9007199254740993  1.5\nSFO     2                 \n")
	results("-o", "ndjson").expect(t, 0, ndjson)
	results("-o", "csv").expect(t, 0, "origin,count\nLAX,9007199254740993\n")
	results("-o", "json").expect(t, 0, `{"items":[`+strings.Replace(strings.TrimSpace(ndjson), "\n", ",", 1)+"]}\n")
	results("-o", "yaml", "--order", "avg desc", "--limit", "1").expect(t, 0, "---\norigin: LAX\ncount: \"9007199254740993\"\navg: 1.5\n")
	results("-o", "json", "--filter", "false").expect(t, 0, `{"items":[]}`+"\n")
	results("--filter", "false").complains(t, 0, "no rows")
}

// An answer that breaks off must not look like a whole one.
func TestResultsThatBreakOffAreAnError(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.worker(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"a":1}`+"\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, form := range []string{"table", "ndjson", "csv", "json"} {
		run(t, t.Context(), "", "results", "q", "-o", form, "--api", f.URL).complains(t, cli.StatusFailed, "breaks off, what was shown is not all")
	}
}

// until does something when a text has been written: the interrupt of someone who has seen enough.
type until struct {
	strings.Builder
	text string
	do   func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Builder.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.do()
	}
	return n, err
}

func TestTailGoesOnBehindTheLastEvent(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.streams["q"] = []byte(`{}`)
	row := func(id, name string) string {
		return fmt.Sprintf("id: %s\nevent: row\ndata: {\"cp\":\"0\",\"row\":{\"origin\":%q}}\n\n", id, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var seen []string
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Last-Event-ID"))
		if len(seen) == 1 {
			_, _ = io.WriteString(w, ": hello\n\nid: 3/0\nevent: stage\ndata: {\"stage\":\"3\"}\n\n"+row("3/1", "LAX")+"id: 3/2\nevent: row\ndata: {\"cut")
			return
		}
		_, _ = io.WriteString(w, "id: 4/0\nevent: gap\ndata: {\"lost\":\"17\"}\n\n"+row("4/1", "SFO"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	out, errs := &until{text: "SFO", do: cancel}, &strings.Builder{}
	status := cli.Run(ctx, cli.Shell{Out: out, Err: errs}, []string{"tail", "q", "-o", "json", "--api", f.URL})
	result{status, out.String(), errs.String()}.expect(t, 0, `{"origin":"LAX"}`+"\n"+`{"origin":"SFO"}`+"\n")
	if want := "following q\n17 results are no longer kept; see: pondage results q\n"; errs.String() != want {
		t.Errorf("errors: %s", errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Join(seen, " ") != " 3/1" {
		t.Errorf("asked for what is behind %q", seen)
	}
}

func TestTailEndsWithTheStream(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.New(problem.CodeStreamUnknown, "there is no stream q"))
	})
	run(t, t.Context(), "", "tail", "q", "--api", f.URL).complains(t, cli.StatusFailed, "stream_unknown")
}

// A stream that is dropped while it is followed has ended; nothing has failed.
func TestTailEndsWhenTheStreamIsDropped(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	var asked atomic.Bool
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Swap(true) {
			problem.Write(w, r, problem.New(problem.CodeStreamUnknown, "there is no stream q"))
			return
		}
		_, _ = io.WriteString(w, "id: 3/0\nevent: stage\ndata: {\"stage\":\"3\"}\n\n")
	})
	run(t, t.Context(), "", "tail", "q", "--api", f.URL).complains(t, 0, "stream q was dropped")
}

func TestIngestSendsAFile(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	var mu sync.Mutex
	var got strings.Builder
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "bad") {
			problem.Write(w, r, problem.New(problem.CodeRecordTooLarge, "too large"))
			return
		}
		got.Write(body)
		answer(w, http.StatusOK, map[string]int{"accepted": strings.Count(string(body), "\n")})
	})
	r := run(t, t.Context(), "", "ingest", "s", file(t, "r.ndjson", "{\"a\":1}\n{\"a\":2}"), "--api", f.URL)
	if r.status != 0 || !strings.HasPrefix(r.out, "2 records sent to s in ") || got.String() != "{\"a\":1}\n{\"a\":2}\n" {
		t.Errorf("%+v, sent %q", r, got.String())
	}
	r = run(t, t.Context(), "1\n2\n3\n", "ingest", "s", "-", "--api", f.URL, "-o", "json")
	if r.status != 0 || !strings.HasPrefix(r.out, `{"source":"s","records":3,"bytes":6,"batches":1,"retries":0,`) {
		t.Errorf("%+v", r)
	}
	// With a rate, batches are small: what is before the record that is refused is in, and the error says so.
	r = run(t, t.Context(), "1\n2\nbad\n", "ingest", "s", "-", "--api", f.URL, "--rate", "1000000")
	r.complains(t, cli.StatusFailed, "too large")
	r = run(t, t.Context(), "1\n2\nbad\n", "ingest", "s", "-", "--api", f.URL, "--rate", "20")
	r.complains(t, cli.StatusFailed, "too large; the first 2 records are in")
	run(t, t.Context(), "", "ingest", "s", "/no/such/file", "--api", f.URL).complains(t, cli.StatusFailed, "no such file")
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	f.worker(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"topic":"flights","partition":0,"offset":"7","code":"malformed_json","reason":"it ends too early","value":"{\u001b[2J","value_base64":"e14="},`+
			`{"topic":"flights","partition":1,"offset":"9","code":"invalid_unicode","reason":"r","value":null,"value_base64":"/w=="}],"next_cursor":null}`)
	})
	run(t, t.Context(), "", "dead-letters", "s", "--api", f.URL).expect(t, 0,
		"RECORD       CODE             REASON             VALUE\nflights/0/7  malformed_json   it ends too early  {\ufffd[2J\nflights/1/9  invalid_unicode  r                  base64:/w==\n")
}

// TestReplay: what the listing gave, mended in part, goes back in requests of a bounded size.
func TestReplay(t *testing.T) {
	t.Parallel()
	f := newAPI(t)
	var bodies []string
	f.worker(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, `{"replayed":3,"not_replayed":[{"topic":"flights","partition":1,"offset":"9","reason":"gone"},{"topic":"","partition":-1,"offset":"-1","reason":"a result"}],"not_replayed_count":2}`)
	})
	replay := func(in string, args ...string) result {
		return run(t, t.Context(), in, append([]string{"dead-letters", "replay", "s", "--api", f.URL}, args...)...)
	}
	replay("", "--code", "wrong_type", "--code", "too_deep", "--partition", "0", "--from", "0", "--to", "7", "--stream", "st").expect(t, 0,
		"3 dead letters of s replayed\n2 dead letters not replayed:\nRECORD       REASON\nflights/1/9  gone\n-            a result\n")
	replay("", "--all").expect(t, 0, "3 dead letters of s replayed\n2 dead letters not replayed:\nRECORD       REASON\nflights/1/9  gone\n-            a result\n")
	listed := `{"items":[{"topic":"flights","partition":0,"offset":"7","code":"c","value":"{}","value_base64":"eA=="},{"partition":1,"offset":"9","value":null,"value_base64":"/w=="},{"partition":1,"offset":"10"}]}`
	replay(listed, "--file", "-", "-o", "json").expect(t, 0, `{"not_replayed":[{"offset":"9","partition":1,"reason":"gone","topic":"flights"},{"offset":"-1","partition":-1,"reason":"a result","topic":""}],"not_replayed_count":2,"replayed":3}`+"\n")
	many := `{"items":[` + strings.Repeat(`{"partition":0,"offset":"1","value":"x"},`, 1000) + `{"partition":0,"offset":"2"}]}`
	replay(many, "--file", "-").expect(t, 0, "6 dead letters of s replayed\n4 dead letters not replayed:\nRECORD       REASON\nflights/1/9  gone\n-            a result\nflights/1/9  gone\n-            a result\n")
	const path = "/v1/sources/s/dead-letters/replay "
	want := []string{
		path + `{"codes":["wrong_type","too_deep"],"from":"0","partition":0,"stream":"st","to":"7"}`, path + `{}`,
		path + `{"records":[{"offset":"7","partition":0,"value":"{}"},{"offset":"9","partition":1,"value_base64":"/w=="},{"offset":"10","partition":1}]}`,
	}
	if len(bodies) != 5 || bodies[4] != path+`{"records":[{"offset":"2","partition":0}]}` || !slices.Equal(bodies[:3], want) {
		t.Errorf("%d requests, %q", len(bodies), bodies[:min(3, len(bodies))])
	}
	replay("").complains(t, cli.StatusUsage, "say which dead letters")
	replay("[]", "--file", "-").complains(t, cli.StatusUsage, "is not of the form")
	replay(`{"items":[{"partition":0,"offset":"1","value_base64":"%"}]}`, "--file", "-").complains(t, cli.StatusUsage, "value_base64 of item 1")
}
