package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/cli/client"
)

// follow opens a stream's live results and returns a function that waits for the data of the next event of a kind.
func (c *cluster) follow(t *testing.T, name, lastID string) func(kind string) client.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/v1/streams/"+name+"/results/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := c.api.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("live results of %s: %s", name, answer.Status)
	}
	events := client.NewEvents(answer.Body)
	return func(kind string) client.Event {
		t.Helper()
		for {
			e, err := events.Next()
			if err != nil {
				t.Fatalf("live results of %s: %v", name, err)
			}
			if e.Name == kind {
				return e
			}
		}
	}
}

// TestLiveResultsComeAndGoOn: a follower sees each result as it comes, and after a break goes on behind the last it has seen.
func TestLiveResultsComeAndGoOn(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.untilState(t, name, "running")
	next := c.follow(t, name, "")
	next("stage")
	c.put(t, src, 0, record("a", 1000, 1))
	first := next("row")
	if want := `,"row":` + counted(1, 1) + `}`; !strings.HasSuffix(first.Data, want) {
		t.Errorf("event %s, want %s in it", first.Data, want)
	}
	c.put(t, src, 0, record("a", 2000, 2))
	next("row")
	c.settles(t, name, counted(2, 3))
	again := c.follow(t, name, first.ID)
	if e := again("row"); !strings.HasSuffix(e.Data, `,"row":`+counted(2, 3)+`}`) {
		t.Errorf("behind %s comes %s", first.ID, e.Data)
	}
}

// TestLiveResultsSayWhatStays: rows carry the checkpoint trigger before them, and a complete checkpoint is told.
func TestLiveResultsSayWhatStays(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.untilState(t, name, "running")
	next := c.follow(t, name, "")
	next("stage")
	cp := func(e client.Event) (n int64) {
		t.Helper()
		var data struct {
			CP int64 `json:"cp,string"`
		}
		if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
			t.Fatalf("%s: %v", e.Data, err)
		}
		return data.CP
	}
	c.put(t, src, 0, record("a", 1000, 1))
	before := cp(next("row"))
	c.checkpoint(t, name)
	committed := cp(next("committed"))
	if committed <= before {
		t.Errorf("a row from after checkpoint %d, then checkpoint %d is complete", before, committed)
	}
	c.put(t, src, 0, record("a", 2000, 2))
	if after := cp(next("row")); after < committed {
		t.Errorf("a row from behind checkpoint %d says %d", committed, after)
	}
}

// TestT08_TheLastWindowComesWithoutAFurtherRow, with a shorter close_idle_after than the default: 4 partitions, rows on one.
func TestT08_TheLastWindowComesWithoutAFurtherRow(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 4, nil)
	closing := c.create(t, count(c.name("st"), src, object{"close_idle_after": "3s"}))
	open := c.create(t, count(c.name("st"), src, object{"close_idle_after": "0s"}))
	c.put(t, src, 2, record("a", 1000, 1), record("a", 2000, 2), record("a", 3000, 3))
	c.settles(t, closing, counted(3, 6))
	// The other one has been silent for as long, and stays open; explain-window says why.
	c.settles(t, open)
	var why struct {
		Notes   []string
		Pending string `json:"pending_windows"`
	}
	decode(t, c.must(t, http.MethodGet, "/v1/streams/"+open+"/explain-window?time=1970-01-01T00:00:01Z", nil), &why)
	if why.Pending != "1" || len(why.Notes) == 0 {
		t.Errorf("explain-window of a window that idling does not close: %+v", why)
	}
}

// TestT11_PartitionThatNeverSpoke, ten times as fast: an empty partition and seven empty vgroups hold nothing once they are
// idle, which is while the other partition still has a record every moment.
func TestT11_PartitionThatNeverSpoke(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 2, nil)
	name := c.create(t, count(c.name("st"), src, object{"close_idle_after": "0s"}))
	c.untilState(t, name, "running")
	const records, every = 80, 100 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range int64(records) {
		<-tick.C // the case is about this pace
		c.put(t, src, 0, record("a", i*1000, 1))
	}
	var want []string
	for i := range 7 { // the eighth window is still open
		want = append(want, `{"k":"a","at":"1970-01-01T00:0`+strconv.Itoa(i/6)+":"+strconv.Itoa(i%6)+`0.000Z","n":"10","s":"10"}`)
	}
	c.settles(t, name, want...)
}

// TestT13_SlowIsNotLate, scaled down: a record every six seconds of both clocks, so that its partition is idle before each,
// and windows close by a clock that lags four seconds behind. Each record counts, each window is right.
func TestT13_SlowIsNotLate(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	name := c.create(t, count(c.name("st"), src, object{"close_idle_after": "4s", "window": object{"kind": "interval", "size": "9s"}}))
	c.untilState(t, name, "running")
	const records, every = 4, 6 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range int64(records) {
		c.put(t, src, 0, record("a", i*every.Milliseconds(), 1))
		if i < records-1 {
			<-tick.C // the case is about this pace
		}
	}
	c.accepted(t, name, records)
	if s := c.stream(t, name); s.Counters.Late != 0 || s.Counters.Counted != records {
		t.Errorf("counters %+v, want %d counted and none late", s.Counters, records)
	}
	c.settles(t, name, counted(2, 2), `{"k":"a","at":"1970-01-01T00:00:09.000Z","n":"1","s":"1"}`, `{"k":"a","at":"1970-01-01T00:00:18.000Z","n":"1","s":"1"}`)
}
