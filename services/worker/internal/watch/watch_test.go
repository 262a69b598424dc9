package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/live"
)

const vgroups = 4

// cluster is nodes with one stream, in one process.
type cluster struct {
	t     *testing.T
	plan  *plan.Plan
	nodes map[ident.NodeID]*node

	mu     sync.Mutex
	stage  ident.Stage
	placed []ident.NodeID // by vgroup
	gone   bool
}

// node has the results of some vgroups.
type node struct {
	*cluster
	id      ident.NodeID
	service *Service
	feed    *live.Feed
	cut     context.CancelFunc // ends the connections to it
	down    bool
}

func newCluster(t *testing.T, placed ...ident.NodeID) *cluster {
	t.Helper()
	src, err := spec.ParseSource([]byte(`{"name":"r","format":"json","kafka":{"topic":"r"},"table":"d","event_time":"ts","columns":[{"name":"n","type":"int64"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte(`{"name":"s","source":"r","partition_by":["tbname"],"window":{"kind":"interval","size":"1m"},"select":[{"expr":"tbname","as":"d"},{"expr":"_wstart","as":"w"},{"expr":"last(n)","as":"n"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "test", VGroups: vgroups, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, plan: p, nodes: map[ident.NodeID]*node{}, placed: placed}
	for _, id := range append([]ident.NodeID{"asked"}, placed...) {
		if c.nodes[id] == nil {
			n := &node{cluster: c, id: id}
			n.service = New(id, c, n, c, slog.New(slog.DiscardHandler))
			c.nodes[id] = n
		}
	}
	c.begin(1)
	return c
}

// begin begins a stage on all nodes that have tasks of the stream.
func (c *cluster) begin(stage ident.Stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stage = stage
	for _, id := range c.placed {
		n := c.nodes[id]
		if n.feed != nil && n.feed.End().Stage < stage {
			n.feed.Close()
			n.feed = nil
		}
		if n.feed == nil {
			n.feed = live.NewFeed(stage, vgroups)
		}
	}
}

// Stream implements Streams.
func (c *cluster) Stream(_ context.Context, name string) (*catalog.Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name != "s" || c.gone {
		return nil, problem.New(problem.CodeStreamUnknown, "there is no stream named %q", name)
	}
	s := &catalog.Stream{Name: name, Plan: c.plan, Description: catalog.Description{ID: 7, Stage: c.stage}}
	for vg, n := range c.placed {
		s.Tasks = append(s.Tasks, catalog.Placed{Task: ident.Task{Level: ident.LevelAgg, VGroup: ident.VGroup(vg)}, Node: n, Address: string(n)})
	}
	return s, nil
}

// Feed implements Feeds.
func (n *node) Feed(ident.StreamID) *live.Feed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.feed
}

// Live implements Peers: a call to another node, which answers for itself alone.
func (c *cluster) Live(ctx context.Context, address, stream, filter, after string) (io.ReadCloser, error) {
	scope := "node"
	p := api.GetLiveResultsParams{PondageScope: &scope}
	if filter != "" {
		p.Filter = &filter
	}
	if after != "" {
		p.LastEventID = &after
	}
	n := c.nodes[ident.NodeID(address)]
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.down {
		return nil, errors.New("connection refused")
	}
	ctx, n.cut = context.WithCancel(ctx)
	from, to := io.Pipe()
	go func() {
		to.CloseWithError(n.service.Follow(ctx, stream, p, func() io.Writer { return to }))
	}()
	context.AfterFunc(ctx, func() { from.Close() })
	return from, nil
}

// publish makes results of a vgroup.
func (c *cluster) publish(vg ident.VGroup, n ...int64) {
	b := block.NewBatch(c.plan.Result.Fields(), len(n))
	for _, v := range n {
		b.Cols[0].AppendString("d")
		b.Cols[1].AppendInt(0)
		b.Cols[2].AppendInt(v)
	}
	c.mu.Lock()
	feed := c.nodes[c.placed[vg]].feed
	c.mu.Unlock()
	feed.Publish(vg, b)
}

// client watches a node.
type client struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	done  chan error
	id    string
}

func (n *node) watch(p api.GetLiveResultsParams) *client {
	ctx, cancel := context.WithCancel(n.t.Context())
	from, to := io.Pipe()
	c := &client{t: n.t, lines: bufio.NewScanner(from), stop: cancel, done: make(chan error, 1)}
	go func() {
		err := n.service.Follow(ctx, "s", p, func() io.Writer { return to })
		to.Close()
		c.done <- err
	}()
	context.AfterFunc(ctx, func() { from.Close() })
	n.t.Cleanup(func() { cancel(); <-c.done })
	return c
}

// next returns the next event as "kind data".
func (c *client) next() string {
	c.t.Helper()
	var kind, data string
	for c.lines.Scan() {
		name, value, _ := strings.Cut(c.lines.Text(), ": ")
		switch {
		case c.lines.Text() == "" && kind != "":
			return kind + " " + data
		case name == "id":
			c.id = value
		case name == "event":
			kind = value
		case name == "data":
			data = value
		}
	}
	return "end"
}

func (c *client) want(events ...string) {
	c.t.Helper()
	for _, want := range events {
		if got := c.next(); got != want {
			c.t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func row(n int64) string {
	return fmt.Sprintf(`row {"cp":"0","row":{"d":"d","w":"1970-01-01T00:00:00.000Z","n":"%d"}}`, n)
}

func TestAWatcherOfOneNodeSeesWhatComes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "asked", "asked", "asked")
	c.publish(0, 1) // before
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{})
	w.want(`stage {"stage":"1"}`)
	if w.id != "1/1.0.0.0" {
		t.Errorf("begins at %s", w.id)
	}
	c.publish(2, 9007199254740993, 3)
	w.want(row(9007199254740993))
	if w.id != "1/1.0.1.0" { // between two rows of a batch
		t.Errorf("id %s", w.id)
	}
	w.want(row(3))
}

func TestAWatcherGoesOnBehindTheLastEventItSaw(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "asked", "other", "other")
	c.publish(0, 1, 2)
	c.publish(3, 31, 32)
	id := "1/1.0.0.1"
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{LastEventID: &id})
	w.want(`stage {"stage":"1"}`)
	got := map[string]bool{w.next(): true, w.next(): true}
	if !got[row(2)] || !got[row(32)] {
		t.Fatalf("got %v", got)
	}
	if w.id != "1/2.0.0.2" {
		t.Errorf("id %s", w.id)
	}
}

func TestResultsOfAllNodesAreOneSequence(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b", "asked", "b")
	c.publish(1, 1) // before: the position has to hold it
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{})
	w.want(`stage {"stage":"1"}`)
	if w.id != "1/0.1.0.0" {
		t.Errorf("begins at %s", w.id)
	}
	for i, vg := range []ident.VGroup{0, 1, 2, 3, 1} {
		c.publish(vg, int64(i))
		w.want(row(int64(i)))
	}
	if w.id != "1/1.3.1.1" {
		t.Errorf("id %s", w.id)
	}
}

func TestANodeThatWentAwayIsAskedAgainFromTheLastEvent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "b", "b", "b")
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{})
	w.want(`stage {"stage":"1"}`)
	c.publish(1, 1)
	w.want(row(1))
	c.mu.Lock()
	b := c.nodes["b"]
	b.down = true
	b.cut()
	c.mu.Unlock()
	c.publish(1, 2)
	c.publish(0, 3) // others go on meanwhile
	w.want(row(3))
	c.mu.Lock()
	b.down = false
	c.mu.Unlock()
	w.want(row(2))
}

func TestANewStageIsToldFromItsBeginning(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "b", "b", "b")
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{})
	w.want(`stage {"stage":"1"}`)
	c.mu.Lock()
	c.placed = []ident.NodeID{"b", "asked", "asked", "asked"}
	c.mu.Unlock()
	c.begin(2)
	c.publish(0, 1)
	c.publish(1, 2)
	w.want(`stage {"stage":"2"}`)
	got := map[string]bool{w.next(): true, w.next(): true}
	if !got[row(1)] || !got[row(2)] {
		t.Fatalf("got %v", got)
	}
	if w.id != "2/1.1.0.0" {
		t.Errorf("id %s", w.id)
	}
}

func TestWhatIsNoLongerKeptIsAGap(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "asked", "asked", "asked")
	old := "0/5.0.0.0"
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{LastEventID: &old})
	w.want(`stage {"stage":"1"}`, `gap {"lost":null}`)
	many := make([]int64, live.RingBytes/16)
	c.publish(0, many...)
	c.publish(0, many...)
	c.publish(0, 7)
	id := "1/3.0.0.0"
	w = c.nodes["asked"].watch(api.GetLiveResultsParams{LastEventID: &id})
	w.want(`stage {"stage":"1"}`, fmt.Sprintf(`gap {"lost":"%d"}`, 2*len(many)-3), row(7))
}

func TestAFilterIsAskedOfEveryNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "b", "b", "b")
	filter := "n > 10"
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{Filter: &filter})
	w.want(`stage {"stage":"1"}`)
	c.publish(0, 1, 11, 2)
	w.want(row(11))
	c.publish(1, 10, 12)
	w.want(row(12))
	if w.id != "1/2.2.0.0" {
		t.Errorf("id %s: rows that the filter leaves out are behind the watcher too", w.id)
	}
}

func TestAWatchEndsWithItsStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "asked", "asked", "asked")
	w := c.nodes["asked"].watch(api.GetLiveResultsParams{})
	w.want(`stage {"stage":"1"}`)
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	w.want("end")
}

func TestQuestionsThatAreWrongAreAnsweredBeforeAnEvent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "asked", "asked", "asked", "asked")
	s := c.nodes["asked"].service
	filter, id := "nosuch > 1", "x"
	for want, ask := range map[problem.Code]func() error{
		"stream_unknown":    func() error { return s.Follow(t.Context(), "nosuch", api.GetLiveResultsParams{}, nil) },
		"unknown_column":    func() error { return s.Follow(t.Context(), "s", api.GetLiveResultsParams{Filter: &filter}, nil) },
		"invalid_parameter": func() error { return s.Follow(t.Context(), "s", api.GetLiveResultsParams{LastEventID: &id}, nil) },
		"overloaded": func() error {
			full := New("asked", c, c.nodes["asked"], c, slog.New(slog.DiscardHandler))
			for range maxWatches {
				full.places <- struct{}{}
			}
			return full.Follow(t.Context(), "s", api.GetLiveResultsParams{}, nil)
		},
	} {
		if err := ask(); err == nil || problem.From(err).Code != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestEventsReadBackAsTheyWereSent(t *testing.T) {
	t.Parallel()
	want := []event{
		stageEvent(live.Position{Stage: 3, Next: []uint64{1, 2}}), gapEvent(live.Position{Stage: 3, Next: []uint64{1, 2}}, 5),
		{kind: kindRow, at: live.Position{Stage: 3, Next: []uint64{9, 2}}, data: []byte(`{"cp":"0","row":{"a: b":"data: x"}}`)},
	}
	var text []byte
	for _, e := range want {
		text = append(e.appendTo(text), heartbeat...)
	}
	var got []event
	err := readEvents(strings.NewReader(string(text)), func(e event) error { got = append(got, e); return nil })
	if !errors.Is(err, io.EOF) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEventsOfAnOldStageAreDropped(t *testing.T) {
	t.Parallel()
	m := newMerger(begin(5, 2))
	if _, v := m.take(1, event{kind: kindRow, at: live.Position{Stage: 4, Next: []uint64{9, 9}}}); v != drop || m.at.Next[0] != 0 {
		t.Errorf("an old row: %v, %v", v, m.at)
	}
	if _, v := m.take(1, stageEvent(begin(6, 2))); v != leaves {
		t.Errorf("a new stage: %v", v)
	}
	if e, v := m.take(0, event{kind: kindRow, at: live.Position{Stage: 5, Next: []uint64{3, 0}}}); v != pass || e.at.String() != "5/3.0" {
		t.Errorf("a row: %v, %v", v, e.at)
	}
	if e, v := m.take(1, event{kind: kindRow, at: live.Position{Stage: 5, Next: []uint64{0, 1}}}); v != pass || e.at.String() != "5/3.1" {
		t.Errorf("a row of another node: %v, %v", v, e.at)
	}
	at := begin(5, 2)
	for i, c := range []struct {
		event event
		want  verdict
	}{{committedEvent(at, 7), pass}, {committedEvent(at, 7), drop}, {committedEvent(at, 6), drop}, {committedEvent(at, 8), pass}} {
		if _, v := m.take(i%2, c.event); v != c.want {
			t.Errorf("word %d of a complete checkpoint: %v, want %v", i, v, c.want)
		}
	}
}
