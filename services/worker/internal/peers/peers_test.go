package peers

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
)

var (
	tasks = rapid.Map(rapid.Uint16Max(255), func(n uint16) ident.Task {
		return ident.Task{Level: ident.LevelSource + ident.Level(n%5), VGroup: ident.VGroup(n)}
	})
	places = rapid.Custom(func(t *rapid.T) ident.Place {
		return ident.Place{Node: ident.NodeID(rapid.StringN(1, 20, 40).Draw(t, "node")), Instance: ident.Instance{Counter: rapid.Uint64().Draw(t, "counter"), Random: rapid.Uint32().Draw(t, "random")}}
	})
)

// overJSON sends a document as the network does.
func overJSON[T any](t *rapid.T, doc T) (out T) {
	text, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsSaidArrives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := dispatch.CreditMessage{From: places.Draw(t, "from"), To: "n2", Seq: uint64(rapid.Int64Min(0).Draw(t, "seq"))}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			m.Entries = append(m.Entries, dispatch.CreditEntry{
				Stream: ident.StreamID(rapid.Int64().Draw(t, "stream")), Stage: ident.Stage(rapid.Int64().Draw(t, "stage")), Upstream: tasks.Draw(t, "up"), Task: tasks.Draw(t, "down"),
				Consumed: ident.MsgID(rapid.Int64Min(0).Draw(t, "consumed")), Notice: rapid.SampledFrom([]dispatch.NoticeKind{"", "held", "refused", "no_such_task"}).Draw(t, "notice"),
				Question: rapid.Int64().Draw(t, "question"), Watermark: rapid.SampledFrom([]ident.EventMs{ident.WatermarkNone, ident.WatermarkEnd, 0, -1}).Draw(t, "watermark"),
			})
		}
		if got, err := ReadCredits(overJSON(t, CreditsDoc(m))); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("got %+v, %v", got, err)
		}
		c := dispatch.Check{Stream: 1, Stage: math.MaxInt64, From: places.Draw(t, "asker"), To: places.Draw(t, "asked"), Pairs: []dispatch.Pair{{Upstream: tasks.Draw(t, "u"), Downstream: tasks.Draw(t, "d")}}}
		if got, err := ReadCheck(overJSON(t, CheckDoc(c))); err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("got %+v, %v", got, err)
		}
		a := dispatch.CheckAnswer{Stream: 1, Stage: 2, From: c.To, Verdict: dispatch.VerdictNewStage}
		if got, err := ReadCheckAnswer(overJSON(t, CheckAnswerDoc(a))); err != nil || got != a {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	_, err := ReadCredits(common.Credits{From: common.Place{Node: "n", Instance: "x"}, Entries: []common.CreditEntry{{Upstream: "source-1", Downstream: "y-1"}}})
	if err == nil || !strings.Contains(err.Error(), "/from/instance") || !strings.Contains(err.Error(), "/entries/0/downstream") {
		t.Errorf("%v", err)
	}
}

// worker serves the calls that are made to it.
func worker(t *testing.T) *httptest.Server {
	t.Helper()
	doc, err := openapi.Document(openapi.Worker)
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpserver.New(httpserver.Config{Document: doc, Telemetry: telemetry.Nop(), ClusterSecret: []byte("secret"), Authenticate: func(context.Context, string) (httpserver.Principal, error) { panic("no token is sent") }})
	if err != nil {
		t.Fatal(err)
	}
	s.API().Post("/v1/edges/credits", func(w http.ResponseWriter, r *http.Request) {
		var c common.Credits
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Seq != 5 {
			t.Errorf("credits %+v, %v", c, err)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	s.API().Post("/v1/edges/handshake", func(w http.ResponseWriter, r *http.Request) {
		var h common.Handshake
		_ = json.NewDecoder(r.Body).Decode(&h)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(common.HandshakeAnswer{From: h.To, StreamID: h.StreamID, Stage: h.Stage, Answer: "ready"})
	})
	s.API().Get("/v1/streams/{name}/explain-window", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.WindowExplanation{Stream: r.Header.Get("Pondage-Scope"), Notes: []string{r.URL.RawQuery}})
	})
	s.API().Get("/v1/streams/{name}/results/live", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, r.Header.Get("Pondage-Scope")+" "+r.Header.Get("Last-Event-ID")+" "+r.URL.Query().Get("filter"))
	})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server
}

func TestCallsAreSignedAndStayWithinANode(t *testing.T) {
	t.Parallel()
	server := worker(t)
	p := New(&httpserver.Signer{Secret: []byte("secret")})
	place := ident.Place{Node: "n2", Instance: ident.Instance{Counter: 1}}
	if err := p.Credits(t.Context(), server.URL, dispatch.CreditMessage{From: place, To: "n1", Seq: 5}); err != nil {
		t.Error(err)
	}
	check := dispatch.Check{Stream: 7, Stage: 2, From: place, To: place, Pairs: []dispatch.Pair{{Upstream: ident.Task{Level: ident.LevelSource}, Downstream: ident.Task{Level: ident.LevelAgg}}}}
	if a, err := p.Check(t.Context(), server.URL, check); err != nil || a.Verdict != dispatch.VerdictReady || a.From != place || a.Stage != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	at, table := time.UnixMilli(1), "a b"
	if e, err := p.Explain(t.Context(), server.URL, "s", &at, &table); err != nil || e.Stream != "node" || !strings.Contains(e.Notes[0], "table=a") || !strings.Contains(e.Notes[0], ".001") {
		t.Errorf("%+v, %v", e, err)
	}
	body, err := p.Live(t.Context(), server.URL, "s", "n > 1", "3/1.2")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, _ := io.ReadAll(body); string(text) != "node 3/1.2 n > 1" {
		t.Errorf("%s", text)
	}
}

func TestARefusalIsAnError(t *testing.T) {
	t.Parallel()
	server := worker(t)
	p := New(&httpserver.Signer{Secret: []byte("other")})
	place := ident.Place{Node: "n2"}
	for what, err := range map[string]error{
		"credits":   p.Credits(t.Context(), server.URL, dispatch.CreditMessage{From: place, To: "n1"}),
		"handshake": second(p.Check(t.Context(), server.URL, dispatch.Check{From: place, To: place})),
		"explain":   second(p.Explain(t.Context(), server.URL, "s", nil, nil)),
		"live":      second(p.Live(t.Context(), server.URL, "s", "", "")),
		"nobody":    p.Credits(t.Context(), "http://127.0.0.1:1", dispatch.CreditMessage{}),
	} {
		if err == nil || (what != "nobody" && !strings.Contains(err.Error(), "bad_signature")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
