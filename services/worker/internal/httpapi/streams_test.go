package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
)

func TestT18_DigitsAreTheSameInEveryForm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keep(rows(t, r, 9007199254740993, -9223372036854775808))
	const first, second = `{"device":"a","window_start":"1970-01-01T00:00:00.000Z","n":"9007199254740993"}`, `{"device":"b","window_start":"1970-01-01T00:00:00.000Z","n":"-9223372036854775808"}`
	for accept, want := range map[string]string{
		"":                                 `{"items":[` + first + `,` + second + `],"next_cursor":null}` + "\n",
		"application/x-ndjson":             first + "\n" + second + "\n",
		"text/csv, application/json;q=0.5": "device,window_start,n\r\na,1970-01-01T00:00:00.000Z,9007199254740993\r\nb,1970-01-01T00:00:00.000Z,-9223372036854775808\r\n",
		"application/json, */*;q=0.1":      `{"items":[` + first + `,` + second + `],"next_cursor":null}` + "\n",
	} {
		header := []string{}
		if accept != "" {
			header = []string{"Accept", accept}
		}
		answer, body := r.call("GET", "/v1/streams/per_minute/results", nil, header...)
		if answer.StatusCode != 200 || string(body) != want {
			t.Errorf("Accept %q: %d (%s)\n%s", accept, answer.StatusCode, answer.Header.Get("Content-Type"), body)
		}
	}
	answer, body := r.call("GET", "/v1/streams/per_minute/results", nil, "Accept", "image/png")
	wantProblem(t, answer, body, 406, "not_acceptable")
	answer, body = r.call("GET", "/v1/streams/per_minute/results?filter=n+%3D", nil, "Accept", "text/csv")
	wantProblem(t, answer, body, 400, "syntax")
	answer, body = r.call("GET", "/v1/streams/per_minute/results?limit=10001", nil)
	wantProblem(t, answer, body, 400, "invalid_parameter")
}

func TestPagesOverTheNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keep(rows(t, r, 1, 2, 3))
	c, err := api.NewClientWithResponses(r.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	limit, order := int32(2), "n desc"
	p := &api.GetResultsParams{Limit: &limit, Order: &order}
	for range 3 {
		page, err := c.GetResultsWithResponse(t.Context(), "per_minute", p)
		if err != nil || page.JSON200 == nil {
			t.Fatalf("%v, %s", err, page.Body)
		}
		for _, item := range page.JSON200.Items {
			got = append(got, string(item[len(item)-4:]))
		}
		if p.Cursor = page.JSON200.NextCursor; p.Cursor == nil {
			break
		}
	}
	if strings.Join(got, " ") != `"3"} "2"} "1"}` {
		t.Errorf("got %v", got)
	}
}

func TestLiveResults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+"/v1/streams/per_minute/results/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	op, _ := r.server.Contract().Operation("GET", "/v1/streams/{name}/results/live")
	if err := op.CheckResponse(answer.StatusCode, answer.Header, nil); err != nil {
		t.Error(err)
	}
	lines := bufio.NewScanner(answer.Body)
	read := func() string {
		var event []string
		for lines.Scan() && lines.Text() != "" {
			event = append(event, lines.Text())
		}
		return strings.Join(event, "|")
	}
	if got := read(); got != `id: 1/0.0|event: stage|data: {"stage":"1"}` {
		t.Errorf("first: %s", got)
	}
	r.feed.Publish(1, rows(t, r, 9007199254740993))
	if got := read(); got != `id: 1/0.1|event: row|data: {"cp":"0","row":{"device":"a","window_start":"1970-01-01T00:00:00.000Z","n":"9007199254740993"}}` {
		t.Errorf("row: %s", got)
	}
}

// broken is results and live results that fail after their first bytes.
type broken struct {
	Results
	before int // bytes written before the failure
}

func (b broken) NDJSON(_ context.Context, _ string, _ api.GetResultsParams, to io.Writer) error {
	if b.before > 0 {
		if _, err := to.Write(make([]byte, b.before)); err != nil {
			return err
		}
	}
	return errors.New("password=x: the database went away")
}

func newBroken(t *testing.T, b broken) *httptest.Server {
	t.Helper()
	doc, err := openapi.Document(openapi.Worker)
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpserver.New(httpserver.Config{Document: doc, Telemetry: telemetry.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	Mount(s, Config{Results: b})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server
}

func TestHalfAnAnswerIsNeverTakenForAll(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 10, 1 << 20} {
		server := newBroken(t, broken{before: before})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/streams/s/results", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/x-ndjson")
		answer, err := http.DefaultTransport.RoundTrip(req)
		if before == 0 {
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if d := wantProblem(t, answer, body, 500, "internal"); strings.Contains(string(body), "password") {
				t.Errorf("%+v", d)
			}
			continue
		}
		if err == nil { // the break may come before or after the head
			_, err = io.ReadAll(answer.Body)
			answer.Body.Close()
		}
		if err == nil {
			t.Errorf("after %d bytes: the client saw a whole answer", before)
		}
	}
}

func TestLiveResultsEndWithTheService(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := httpserver.Listen("127.0.0.1:0", r.server.Handler(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	service := l.Service("worker http")
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + l.Addr().String() + "/v1/streams/per_minute/results/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 1)
	if _, err := answer.Body.Read(first); err != nil {
		t.Fatal(err)
	}
	if err := service.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Errorf("the watcher sees a broken connection, not an end: %v", err)
	}
}
