package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// run is a node.Run that tells reports.
type run struct {
	node.Run
	reports []task.Report
}

func (r run) TaskReports() []task.Report { return r.reports }

// names is a Streams of one stream.
type names struct{ stream *catalog.Stream }

func (n names) Stream(context.Context, string) (*catalog.Stream, error) { return n.stream, nil }

// others answers for other nodes.
type others map[string]api.WindowExplanation

func (o others) Explain(_ context.Context, address, _ string, _ *time.Time, _ *string) (api.WindowExplanation, error) {
	e, ok := o[address]
	if !ok {
		return e, errors.New("connection refused")
	}
	return e, nil
}

func newStream(t *testing.T, members string) *catalog.Stream {
	t.Helper()
	src, err := spec.ParseSource([]byte(`{"name":"r","format":"json","kafka":{"topic":"r"},"table":"d","event_time":"ts","columns":[{"name":"n","type":"int64"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	st, err := spec.ParseStream([]byte(`{"name":"s","source":"r",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(src, st, plan.Env{Cluster: "test", VGroups: 4, Zone: time.LoadLocation})
	if err != nil {
		t.Fatal(err)
	}
	return &catalog.Stream{Name: "s", Plan: p, Description: catalog.Description{ID: 7, Stage: 3, Wanted: "running"}}
}

const (
	windowed = `"partition_by":["tbname"],"window":{"kind":"interval","size":"10s","sliding":"5s"},"select":[{"expr":"count(*)","as":"c"}]`
	flat     = `"select":[{"expr":"n"}]`
)

func level(l ident.Level, vg ident.VGroup) ident.Task { return ident.Task{Level: l, VGroup: vg} }

func source(vg ident.VGroup, parts ...watermark.PartitionInfo) task.Report {
	r := task.Report{Task: level(ident.LevelSource, vg)}
	r.Progress.Source = &watermark.SourceInfo{Partitions: parts}
	r.Progress.Watermark = ident.WatermarkEnd
	for _, p := range parts {
		r.Progress.Partitions = append(r.Progress.Partitions, task.PartitionProgress{Topic: "r", Partition: p.Partition, End: p.Next + 5, Counters: task.Counters{Late: 2}})
		if p.Holds {
			r.Progress.Watermark = min(r.Progress.Watermark, p.Watermark)
		}
	}
	return r
}

func receiver(vg ident.VGroup, w ident.EventMs, rule watermark.Rule, open []window.Open, ups ...watermark.UpstreamInfo) task.Report {
	r := task.Report{Task: level(ident.LevelAgg, vg)}
	r.Progress.Watermark = w
	r.Progress.Merge = &watermark.MergeInfo{Watermark: w, Rule: rule, Upstreams: ups, SilenceMs: 12_000, CloseIdleAfter: 30_000}
	r.Progress.Windows, r.Progress.Open = open, len(open)
	return r
}

func ask(t *testing.T, s *catalog.Stream, p api.ExplainWindowParams, peers others, reports ...task.Report) api.WindowExplanation {
	t.Helper()
	s.Run = run{reports: reports}
	e, err := New("me", names{s}, peers).Explain(t.Context(), "s", p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func at(seconds int64) *time.Time {
	t := time.Unix(seconds, 0).UTC()
	return &t
}

func noted(e api.WindowExplanation, part string) bool {
	return strings.Contains(strings.Join(e.Notes, "\n"), part)
}

func TestThePartitionThatHoldsIsNamed(t *testing.T) {
	t.Parallel()
	e := ask(t, newStream(t, windowed), api.ExplainWindowParams{}, nil,
		source(1, watermark.PartitionInfo{Partition: 1, Phase: "active", Watermark: 7000, Highest: 9000, Holds: true},
			watermark.PartitionInfo{Partition: 0, Phase: "idle", Watermark: 3000, Floor: 3000}),
		source(2, watermark.PartitionInfo{Partition: 2, Phase: "active", Watermark: 8000, Lag: watermark.LagBehind, Holds: true}),
		receiver(0, 7000, watermark.RuleMinimum, nil, watermark.UpstreamInfo{Task: level(ident.LevelSource, 1), Watermark: 7000, Spoken: true, Holds: true}))
	if e.HeldBy == nil || e.HeldBy.Name != "r/1" || e.HeldBy.Kind != "partition" || !e.Watermark.Equal(*at(7)) || e.Late != 6 || e.Stage != 3 {
		t.Errorf("%+v, held by %+v", e, e.HeldBy)
	}
	if !noted(e, "waits for partition r/1, whose watermark is 1970-01-01T00:00:07.000Z") {
		t.Errorf("notes: %q", e.Notes)
	}
	if p := e.Partitions[0]; p.Partition != 0 || !p.Idle || p.Holds || !strings.HasPrefix(p.Reason, "idle") || !p.Floor.Equal(*at(3)) {
		t.Errorf("%+v", p)
	}
	if p := e.Partitions[2]; p.Lag != 5 || p.Reason != "lag: 5 records wait to be read" {
		t.Errorf("%+v", p)
	}
}

func TestT27_AnOpenTransactionIsNamed(t *testing.T) {
	t.Parallel()
	e := ask(t, newStream(t, windowed), api.ExplainWindowParams{}, nil,
		source(1, watermark.PartitionInfo{Partition: 0, Phase: "active", Watermark: 7000, Lag: watermark.LagOpenTransaction, Holds: true}))
	if e.HeldBy == nil || !strings.HasPrefix(e.HeldBy.Reason, "open transaction") {
		t.Errorf("%+v", e.HeldBy)
	}
}

func TestT11_APartitionThatNeverSpokeIsNamed(t *testing.T) {
	t.Parallel()
	e := ask(t, newStream(t, windowed), api.ExplainWindowParams{}, nil,
		source(1, watermark.PartitionInfo{Partition: 0, Phase: "silent", Watermark: ident.WatermarkNone, Holds: true}),
		receiver(0, ident.WatermarkNone, watermark.RuleMinimum, nil, watermark.UpstreamInfo{Task: level(ident.LevelSource, 1), Watermark: ident.WatermarkNone, Holds: true}))
	if e.Watermark != nil || !strings.HasPrefix(e.HeldBy.Reason, "never spoke") || e.Channels[0].Reason != "never spoke in this stage" || !noted(e, "whose watermark is none yet") {
		t.Errorf("%+v, %+v, %q", e.HeldBy, e.Channels, e.Notes)
	}
}

func TestT08_ClosingBySilenceThatIsOffIsSaid(t *testing.T) {
	t.Parallel()
	idle := watermark.UpstreamInfo{Task: level(ident.LevelSource, 1), Watermark: 1000, Spoken: true, Idle: true}
	e := ask(t, newStream(t, windowed+`,"close_idle_after":"0s"`), api.ExplainWindowParams{}, nil, receiver(0, 1000, watermark.RuleIdleOff, nil, idle))
	if !noted(e, "closing by silence is switched off (close_idle_after 0)") || !noted(e, "agg-0: all inputs are idle") || e.HeldBy != nil {
		t.Errorf("%+v %q", e.HeldBy, e.Notes)
	}
	e = ask(t, newStream(t, windowed), api.ExplainWindowParams{}, nil, receiver(0, 1000, watermark.RuleSilence, nil, idle))
	if !noted(e, "30s after the last row (close_idle_after), silent for 12s") {
		t.Errorf("%q", e.Notes)
	}
}

func TestWindowsThatHoldATime(t *testing.T) {
	t.Parallel()
	open := []window.Open{{Start: 5000, End: 15000, Rows: 3, Groups: 2}}
	// T02: just before the epoch, too.
	for _, c := range []struct {
		at        *time.Time
		watermark ident.EventMs
		want      string
	}{
		{at(7), 12_000, "[0 10 closed][5 15 open]"}, {at(12), 12_000, "[5 15 open][10 20 empty]"}, {at(-1), ident.WatermarkNone, "[-10 0 empty][-5 5 empty]"},
		{at(7), ident.WatermarkEnd, "[0 10 closed][5 15 closed]"},
	} {
		e := ask(t, newStream(t, windowed), api.ExplainWindowParams{Time: c.at}, nil, receiver(0, c.watermark, watermark.RuleMinimum, open), receiver(1, c.watermark, watermark.RuleMinimum, nil))
		got := ""
		for _, w := range e.Windows {
			got += fmt.Sprintf("[%d %d %s]", w.Start.Unix(), w.End.Unix(), w.State)
		}
		if got != c.want {
			t.Errorf("at %s, watermark %d: %s", c.at, c.watermark, got)
		}
	}
	e := ask(t, newStream(t, windowed+`,"trigger":"at_once"`), api.ExplainWindowParams{Time: at(7)}, nil, receiver(0, 1000, watermark.RuleMinimum, open))
	if e.Windows[1].State != "emitted" || !strings.Contains(e.Windows[1].Reason, "3 rows of 2 groups") {
		t.Errorf("%+v", e.Windows)
	}
}

func TestAWindowThatAnAggregateHasNoValueForIsMarked(t *testing.T) {
	t.Parallel()
	s := newStream(t, windowed)
	s.Tasks = []catalog.Placed{{Node: "me", Address: "me"}, {Node: "b", Address: "b"}}
	theirs := api.WindowExplanation{Windows: []api.ExplainedWindow{{Start: *at(5), End: *at(15), State: "empty", PartialSince: at(9)}}}
	partial := []window.Open{{Start: 5000, End: 15000, Rows: 3, Groups: 2, Partial: true, PartialSince: 8000}}
	whole := []window.Open{{Start: 0, End: 10000, Rows: 1, Groups: 1}}
	e := ask(t, s, api.ExplainWindowParams{Time: at(7)}, others{"b": theirs},
		receiver(0, 4000, watermark.RuleMinimum, partial), receiver(1, 4000, watermark.RuleMinimum, whole))
	if len(e.Windows) != 2 || e.Windows[0].PartialSince != nil || e.Windows[1].PartialSince == nil || !e.Windows[1].PartialSince.Equal(*at(9)) {
		t.Errorf("%+v", e.Windows)
	}
	if !strings.HasSuffix(e.Windows[1].Reason, "came into the query at 1970-01-01T00:00:08.000Z has no value for it") {
		t.Errorf("%q", e.Windows[1].Reason)
	}
}

func TestATablesOwnTasksAreShown(t *testing.T) {
	t.Parallel()
	s := newStream(t, windowed)
	table := "ORD"
	q := newQuestion(s, api.ExplainWindowParams{Table: &table})
	var reports []task.Report
	for vg := range ident.VGroup(4) {
		reports = append(reports, receiver(vg, 1000, watermark.RuleMinimum, nil, watermark.UpstreamInfo{Task: level(ident.LevelSource, 1)}))
	}
	e := ask(t, s, api.ExplainWindowParams{Table: &table}, nil, reports...)
	if len(e.Channels) != 1 || e.Channels[0].Downstream != level(ident.LevelAgg, *q.vgroup).String() {
		t.Errorf("%+v", e.Channels)
	}
	e = ask(t, newStream(t, strings.Replace(windowed, `"tbname"`, `"tbname","n"`, 1)), api.ExplainWindowParams{Table: &table}, nil, reports...)
	if len(e.Channels) != 4 || !noted(e, "not partitioned by table alone") {
		t.Errorf("%d channels, %q", len(e.Channels), e.Notes)
	}
}

func TestTheNodesAnswersAreJoined(t *testing.T) {
	t.Parallel()
	s := newStream(t, windowed)
	s.Tasks = []catalog.Placed{{Node: "me", Address: "me"}, {Node: "b", Address: "b"}, {Node: "b", Address: "b"}, {Node: "c", Address: "c"}}
	b := api.WindowExplanation{
		Watermark: at(9), Late: 1, PendingWindows: 4, Notes: []string{"agg-3: something"},
		Channels:   []api.ExplainedChannel{{Upstream: "source-1", Downstream: "agg-3", Holds: true}},
		Partitions: []api.ExplainedPartition{{Topic: "r", Partition: 5, Watermark: at(2), Holds: true, Reason: "lag"}},
		Windows:    []api.ExplainedWindow{{Start: *at(0), End: *at(10), State: "open", Reason: "theirs"}, {Start: *at(5), End: *at(15), State: "empty"}},
	}
	e := ask(t, s, api.ExplainWindowParams{Time: at(7)}, others{"b": b},
		receiver(0, 12_000, watermark.RuleMinimum, []window.Open{{Start: 5000, End: 15000, Rows: 1, Groups: 1}}, watermark.UpstreamInfo{Task: level(ident.LevelSource, 1)}))
	if !e.Watermark.Equal(*at(9)) || e.HeldBy.Name != "r/5" || e.Late != 1 || e.PendingWindows != 5 || len(e.Channels) != 2 {
		t.Errorf("%+v, held by %+v", e, e.HeldBy)
	}
	if len(e.Windows) != 2 || e.Windows[0].Reason != "theirs" || e.Windows[1].State != "open" {
		t.Errorf("%+v", e.Windows)
	}
	if !noted(e, "node c did not answer") || !noted(e, "agg-3: something") {
		t.Errorf("%q", e.Notes)
	}
	scope := "node"
	if e := ask(t, s, api.ExplainWindowParams{PondageScope: &scope}, others{}); len(e.Notes) != 0 || e.Windows == nil || e.Channels == nil {
		t.Errorf("for this node alone: %+v", e)
	}
}

func TestAStreamThatHasEnded(t *testing.T) {
	t.Parallel()
	e := ask(t, newStream(t, windowed), api.ExplainWindowParams{}, nil,
		source(1, watermark.PartitionInfo{Partition: 0, Phase: "done", Watermark: 7000}),
		receiver(0, ident.WatermarkEnd, watermark.RuleFinished, nil, watermark.UpstreamInfo{Task: level(ident.LevelSource, 1), Finished: true, Spoken: true}))
	if e.Watermark != nil || e.HeldBy != nil || !noted(e, "every input is finished") {
		t.Errorf("%+v %q", e, e.Notes)
	}
}

func TestStreamsWithoutTasksOrWindowsSaySo(t *testing.T) {
	t.Parallel()
	s := newStream(t, windowed)
	s.Wanted = "stopped"
	if e := ask(t, s, api.ExplainWindowParams{}, nil); !noted(e, "wanted stopped") {
		t.Errorf("%q", e.Notes)
	}
	e := ask(t, newStream(t, flat), api.ExplainWindowParams{Time: at(1)}, nil, source(1, watermark.PartitionInfo{Phase: "active", Watermark: 5000, Holds: true}))
	if !noted(e, "no window") || len(e.Windows) != 0 || !e.Watermark.Equal(*at(5)) {
		t.Errorf("%+v", e)
	}
}
