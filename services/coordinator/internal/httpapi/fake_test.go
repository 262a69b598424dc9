package httpapi

import (
	"context"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// The documents of the fake's source and stream, in canonical form as far as the tests care.
const (
	sourceJSON = `{"name":"flights","format":"json","kafka":{"topic":"flights"},"table":"origin","event_time":"ts","columns":[{"name":"origin","type":"string"},{"name":"delay","type":"int64"}]}`
	streamJSON = `{"name":"flights_1h","source":"flights","select":[{"expr":"tbname","as":"origin"},{"expr":"_wstart"},{"expr":"count(*)","as":"count"}],"partition_by":["tbname"],"window":{"kind":"interval","size":"1h"},"outputs":{"postgres":{"table":"flights_1h"}}}`
)

var begun = time.Date(2026, 7, 28, 8, 0, 0, 0, time.UTC)

// fake is an application with one source, one stream and one node. It keeps what it was asked.
type fake struct {
	control.API // nil: what a test does not expect panics and is answered as internal

	bare    bool // every field that may be empty is
	request control.Request
	action  control.Action
	doc     []byte
	page    control.Page
	beat    control.Heartbeat
	leader  control.Leader
	asked   string // a stream or a savepoint
	back    control.GoBack
	reports control.PartReports
	fail    error
	outputs error // of CheckOutputs
	nodes   []control.Node
}

func newFake() *fake {
	return &fake{nodes: []control.Node{{
		ID: "n1", Instance: ident.Instance{Counter: 1, Random: 2}, Address: "http://worker:7421", Version: "1", State: "alive", Registered: begun, SilenceMs: 400,
		VGroups: []ident.VGroup{0, 1}, Tasks: 3,
	}}}
}

func (f *fake) source() control.Source {
	return control.Source{Name: "flights", Version: 3, Spec: []byte(sourceJSON), Created: begun, Updated: begun}
}

func (f *fake) stream() control.Stream {
	s := control.Stream{
		ID: 7, Name: "flights_1h", Version: 12, Source: []byte(sourceJSON), Spec: []byte(streamJSON), State: control.StreamCreating, Wanted: "running", Generation: 1,
		Partitions: []control.SourcePartition{{Topic: "flights", TopicID: "id", Partition: 0, Start: 10}}, Created: begun, Updated: begun,
	}
	if f.bare {
		return s
	}
	w, until := ident.EventMs(1785225600000), ident.NextOffset(500)
	counters := control.Counters{Counted: 5, Filtered: 4, NoWindow: 3, Late: 2, DeadLettered: 1}
	s.State, s.Stage, s.Restarts = control.StreamRunning, 2, 1
	s.Checkpoints = store.Cuts{Next: 13, Complete: 11, Settled: 12, Start: 8, Failed: 1}
	s.Cause, s.Waiting = &control.Cause{Code: "node_restarted", Message: "n1"}, "node n2 is suspect"
	s.Partitions[0].Until = &until
	s.Start = control.StartRecord{Begun: begun, Missing: []ident.Task{{Level: ident.LevelAgg, VGroup: 3}},
		Failed: []control.TaskFailure{{Task: ident.Task{Level: ident.LevelSource, VGroup: 1}, Cause: control.Cause{Code: "start_failed", Message: "no"}}}}
	s.Progress = control.Progress{
		Counters: counters, Watermark: &w, Lag: 9007199254740993, RecordsPerSecond: 1.5,
		Partitions: []control.PartitionProgress{{Topic: "flights", Partition: 0, Next: 25, Lag: 475, Watermark: &w, Idle: true, Counters: counters}},
	}
	return s
}

func (f *fake) CreateSource(_ context.Context, r control.Request, doc []byte) (control.Source, error) {
	f.request, f.doc = r, doc
	return f.source(), f.fail
}

func (f *fake) ListSources(_ context.Context, p control.Page) (control.List[control.Source], error) {
	f.page = p
	return control.List[control.Source]{Items: []control.Source{f.source()}, Next: f.next()}, f.fail
}

// next is a cursor, unless the fake is bare.
func (f *fake) next() string {
	if f.bare || f.page.Cursor != "" {
		return ""
	}
	return "more"
}

func (f *fake) GetSource(_ context.Context, name string) (control.Source, error) {
	if name != "flights" {
		return control.Source{}, &control.Error{Code: control.CodeSourceUnknown, Message: "there is no source named " + name}
	}
	s := f.source()
	s.Streams = []string{"flights_1h"}
	return s, f.fail
}

func (f *fake) ReplaceSource(_ context.Context, r control.Request, _ string, doc []byte) (control.Source, error) {
	f.request, f.doc = r, doc
	return f.source(), f.fail
}

func (f *fake) DeleteSource(_ context.Context, r control.Request, _ string) error {
	f.request = r
	return f.fail
}

func (f *fake) CreateStream(_ context.Context, r control.Request, doc []byte) (control.Stream, error) {
	f.request, f.doc = r, doc
	return f.stream(), f.fail
}

func (f *fake) CheckOutputs(_ context.Context, _, stream []byte) error {
	f.doc = stream
	return f.outputs
}

func (f *fake) ListStreams(_ context.Context, p control.Page) (control.List[control.Stream], error) {
	f.page = p
	return control.List[control.Stream]{Items: []control.Stream{f.stream()}, Next: f.next()}, f.fail
}

func (f *fake) GetStream(_ context.Context, name string) (control.Stream, error) {
	if name != "flights_1h" {
		return control.Stream{}, &control.Error{Code: control.CodeStreamUnknown, Message: "there is no stream named " + name, Hint: "list them"}
	}
	return f.stream(), f.fail
}

func (f *fake) StreamTasks(context.Context, string) ([]control.TaskStatus, error) {
	task := control.TaskStatus{PlacedTask: control.PlacedTask{
		Task: ident.Task{Level: ident.LevelAgg, VGroup: 3}, Node: "n1", Instance: ident.Instance{Counter: 1, Random: 2}, Address: "http://worker:7421",
	}}
	if !f.bare {
		task.Report = &control.TaskReport{State: "failed", Cause: &control.Cause{Code: "task_failed", Message: "no"}, Watermark: 1785225600000, RecordsPerSecond: 2, QueueBytes: 100, Note: "sink_unreachable"}
	}
	return []control.TaskStatus{task}, f.fail
}

func (f *fake) ActOnStream(_ context.Context, r control.Request, _ string, a control.Action) (control.Stream, error) {
	f.request, f.action = r, a
	return f.stream(), f.fail
}

func (f *fake) ListEvents(_ context.Context, _ string, p control.Page) (control.List[control.Event], error) {
	f.page = p
	e := control.Event{ID: 9, At: begun, Severity: "info", Code: "stage_begun", Message: "stage 2"}
	if !f.bare {
		e.Stream, e.Node = "flights_1h", "n1"
	}
	return control.List[control.Event]{Items: []control.Event{e}, Next: f.next()}, f.fail
}

func (f *fake) orders() []control.Order {
	o := control.Order{
		Stream: 7, Name: "flights_1h", Term: 4, Generation: 1, Stage: 2, Wanted: control.OrderRunning, Source: []byte(sourceJSON), Spec: []byte(streamJSON),
		Partitions: f.stream().Partitions, Tasks: []control.PlacedTask{{Task: ident.Task{Level: ident.LevelSource}, Node: "n1", Instance: ident.Instance{Counter: 1, Random: 2}, Address: "http://worker:7421"}},
		Start: f.stream().Start,
	}
	if !f.bare {
		o.Complete, o.Settled, o.Retained = 11, 12, []ident.CheckpointID{8, 10, 11}
		o.Restore = &control.Restore{Checkpoint: 8, Tasks: []control.RestoredTask{{Task: ident.Task{Level: ident.LevelSource}, Node: "n1", Manifest: manifest.Hash{0xab}}}}
	}
	return []control.Order{o}
}

func (f *fake) RegisterNode(_ context.Context, r control.Registration) (control.Registered, error) {
	if r.Instance != (ident.Instance{Counter: 12, Random: 0x0a1b2c3d}) {
		return control.Registered{}, invalid.New("invalid_format", "/instance", "instance %s", r.Instance)
	}
	return control.Registered{Cluster: "c-1", Name: "pondage", VGroups: 8, Term: 4, Orders: f.orders()}, f.fail
}

func (f *fake) Heartbeat(_ context.Context, hb control.Heartbeat) (control.HeartbeatAnswer, error) {
	f.beat = hb
	return control.HeartbeatAnswer{Message: hb.Message, Term: 4, Orders: f.orders(), Orphans: []ident.StreamID{99}}, f.fail
}

func (f *fake) ListNodes(context.Context) ([]control.Node, error) {
	if f.bare {
		return []control.Node{{ID: "n1", Registered: begun, State: "left", SilenceMs: -1}}, f.fail
	}
	return f.nodes, f.fail
}

func (f *fake) Leader() control.Leader { return f.leader }

func (f *fake) ListVGroups(context.Context) ([]control.VGroup, error) {
	if f.bare {
		return []control.VGroup{{VGroup: 0}}, f.fail
	}
	return []control.VGroup{{VGroup: 0, Owner: "n1"}, {VGroup: 1, Owner: "n1"}}, f.fail
}

func (f *fake) Cluster(context.Context) (control.ClusterInfo, error) {
	c := control.ClusterInfo{ID: "c-1", Name: "pondage", VGroups: 8}
	if !f.bare {
		c.Leader = control.Leader{Term: 4, Holder: "host-1", Self: true}
	}
	return c, f.fail
}

func (f *fake) CreateToken(context.Context, control.Request, string, control.Role) (string, error) {
	return "pt_secret", f.fail
}

func (f *fake) ListTokens(context.Context) ([]control.Token, error) {
	return []control.Token{{Name: "ci", Role: control.RoleEditor, Created: begun}}, f.fail
}

func (f *fake) DeleteToken(context.Context, string) error { return f.fail }

func (f *fake) Authenticate(_ context.Context, token string) (control.Principal, error) {
	role, ok := map[string]control.Role{"v": control.RoleViewer, "e": control.RoleEditor, "a": control.RoleAdmin}[token]
	if !ok {
		return control.Principal{}, &control.Error{Code: control.CodeUnauthenticated, Message: "the token is not known"}
	}
	return control.Principal{Name: "user-" + token, Role: role}, nil
}
