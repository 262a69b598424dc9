package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// errSourceMoved: the source was changed between planning and writing; plan again.
var errSourceMoved = errors.New("the source was changed meanwhile")

// planAttempts is how often a stream is planned anew because its source changes under it.
const planAttempts = 5

// CreateStream checks a stream, resolves where it starts and ends, and writes it; the loop brings it up. Nothing is made
// outside the metastore before the row exists.
func (s *Service) CreateStream(ctx context.Context, r Request, doc []byte) (Stream, error) {
	head, err := s.Planner.Stream(doc)
	if err != nil {
		return Stream{}, err
	}
	op := operation{r, "create stream", head.Doc}
	if r.IdempotencyKey != "" {
		// Before the checks: what was accepted once is answered, also when the topic is gone by now.
		if out, found, err := recall[Stream](ctx, s, op); found || err != nil {
			return out, err
		}
	}
	for range planAttempts {
		var draft store.Stream
		var version int64
		if draft, version, err = s.draft(ctx, head); err != nil {
			return Stream{}, err
		}
		var out Stream
		out, err = once(ctx, s, op, func(ctx context.Context, tx store.Tx) (Stream, error) {
			return s.insert(ctx, tx, draft, head.Source, version)
		})
		if !errors.Is(err, errSourceMoved) {
			return out, err
		}
	}
	return Stream{}, errorf(CodeBusy, "source %q keeps changing", head.Source).retryable()
}

// draft plans a stream and looks at what it will read and write. It returns the source's version that was planned with.
func (s *Service) draft(ctx context.Context, head StreamHead) (store.Stream, int64, error) {
	source, err := s.sourceFor(ctx, head)
	if err != nil {
		return store.Stream{}, 0, err
	}
	plan, err := s.Planner.Plan(source.Spec, head.Doc)
	if err != nil {
		return store.Stream{}, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	partitions, err := s.Kafka.Resolve(ctx, plan.Topic, plan.Start, plan.Until)
	if err != nil {
		return store.Stream{}, 0, outside(err, CodeKafkaUnreachable, "look up topic "+plan.Topic.Topic)
	}
	if err := s.Sinks.Check(ctx, source.Spec, head.Doc); err != nil {
		return store.Stream{}, 0, outside(err, CodeSinkUnreachable, "check the outputs")
	}
	return store.Stream{
		Name: head.Name, Source: source.ID, SourceSpec: source.Spec, Spec: head.Doc, Partitions: partitions, Targets: plan.Targets,
		State: task.StreamCreating, Wanted: task.WantRunning, Generation: 1, StageDue: true,
	}, source.Version, nil
}

// CheckOutputs looks at the targets of a stream that is not made.
func (s *Service) CheckOutputs(ctx context.Context, source, stream []byte) error {
	ctx, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	err := s.Sinks.Check(ctx, source, stream)
	var named *Error
	if errors.As(err, &named) && named.Code == CodeSinkUnreachable || ctx.Err() != nil {
		return nil //nolint:nilerr // that it cannot be looked at now is no fault of the stream
	}
	return err
}

// outside makes what users see of an error of a seam that has not named it.
func outside(err error, code, what string) error {
	var named *Error
	var input *invalid.Error
	if errors.As(err, &named) || errors.As(err, &input) {
		return err
	}
	return (&Error{Code: code, Message: what, Err: err}).retryable().hinted("check that it is up and that the configuration names it rightly")
}

// sourceFor reads the stream's source, and refuses a taken name before anything is looked up outside.
func (s *Service) sourceFor(ctx context.Context, head StreamHead) (store.Source, error) {
	var source store.Source
	err := s.Store.View(ctx, func(r store.Reader) error {
		if _, err := r.Stream(ctx, head.Name); err == nil {
			return &store.ConflictError{Kind: "stream", Name: head.Name}
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var err error
		source, err = r.Source(ctx, head.Source)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		all, err := r.Sources(ctx, "", MaxPage)
		if err != nil {
			return err
		}
		return unknownSource(head.Source, all)
	})
	return source, s.failure(err, CodeBusy)
}

func unknownSource(name string, all []store.Source) error {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	d := invalid.Detail{Code: CodeSourceUnknown, Pointer: "/source", Message: fmt.Sprintf("there is no source named %q", name)}
	if near := invalid.Nearest(name, names); near != "" {
		d.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		d.Hint = "create the source first"
	}
	return &invalid.Error{Details: []invalid.Detail{d}}
}

// insert writes a drafted stream.
func (s *Service) insert(ctx context.Context, tx store.Tx, draft store.Stream, source string, version int64) (Stream, error) {
	now, err := tx.LockSource(ctx, source)
	if errors.Is(err, store.ErrNotFound) || (err == nil && (now.Version != version || now.ID != draft.Source)) {
		return Stream{}, errSourceMoved
	}
	if err != nil {
		return Stream{}, err
	}
	row, err := tx.InsertStream(ctx, draft)
	if err != nil {
		return Stream{}, err
	}
	if err := tx.InsertEvent(ctx, streamEvent(row, store.Info, "stream_created", "reads %s", counted(len(row.Partitions), "partition"))); err != nil {
		return Stream{}, err
	}
	return view(row), nil
}

// ActOnStream changes what is wanted of a stream.
func (s *Service) ActOnStream(ctx context.Context, r Request, name string, a Action) (Stream, error) {
	op := operation{r, string(a) + " stream " + name, nil}
	out, err := once(ctx, s, op, func(ctx context.Context, tx store.Tx) (Stream, error) {
		row, err := tx.LockStreamNamed(ctx, name)
		if err != nil {
			return Stream{}, err
		}
		if err := matches(r, row.Version, "stream "+name); err != nil {
			return Stream{}, err
		}
		return act(ctx, tx, row, a)
	})
	return out, s.streamFailure(err, name)
}

func act(ctx context.Context, tx store.Tx, row store.Stream, a Action) (Stream, error) {
	before := decide.Intent{StreamStatus: task.StreamStatus{State: row.State, Wanted: row.Wanted}, StageDue: row.StageDue}
	after, err := decide.Accept(before, a)
	if err != nil {
		return Stream{}, refused(row, a)
	}
	if after == before {
		return view(row), nil
	}
	row.State, row.Wanted, row.StageDue = after.State, after.Wanted, after.StageDue
	row.Generation++
	if decide.Fresh(a) {
		row.Restarts, row.Cause = 0, nil
	}
	if a == decide.Drop || a == decide.Stop || a == decide.Reset {
		if err := store.EndCheckpoints(ctx, tx, &row, stageEnded(string(a)+" was asked for")); err != nil {
			return Stream{}, err
		}
	}
	if a == decide.Reset {
		row.Cause = &store.Cause{Code: CodeResetAsked, Message: "a user asked for it"}
	}
	if row, err = tx.UpdateStream(ctx, row); err != nil {
		return Stream{}, err
	}
	err = tx.InsertEvent(ctx, streamEvent(row, store.Info, "stream_"+string(a), "%s was asked for: %s, wanted %s", a, row.State, row.Wanted))
	return view(row), err
}

func refused(row store.Stream, a Action) error {
	e := errorf(CodeNotAllowedInState, "stream %q is %s: %s is not possible", row.Name, row.State, a)
	switch {
	case row.State == task.StreamStopping && a == decide.Start:
		return e.retryable().hinted("wait until it is stopped")
	case row.State == task.StreamFinished && (a == decide.Start || a == decide.Reset):
		return e.hinted("it has reached its end; to read it all again, stop it and then recover it from checkpoint 0")
	}
	var in []string
	for _, s := range decide.AllowedIn(a) {
		in = append(in, string(s))
	}
	return e.hinted("%s is possible when a stream is %s", a, strings.Join(in, ", "))
}

func (s *Service) streamFailure(err error, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return errorf(CodeStreamUnknown, "there is no stream named %q", name)
	}
	return s.failure(err, CodeBusy)
}

// view is a row as users see it, without what only the leader knows.
func view(r store.Stream) Stream {
	out := Stream{
		ID: r.ID, Name: r.Name, Version: r.Version, Source: r.SourceSpec, Spec: r.Spec, State: r.State, Wanted: r.Wanted,
		Generation: r.Generation, Stage: r.Stage, Restarts: r.Restarts, Cause: r.Cause, Partitions: r.Partitions, Targets: r.Targets,
		Progress: Progress{Partitions: []PartitionProgress{}}, Checkpoints: r.Cuts, Created: r.Created, Updated: r.Updated,
	}
	if r.Progress != nil {
		_ = json.Unmarshal(r.Progress, &out.Progress) // an older form shows nothing rather than no stream
	}
	return out
}

// GetStream returns a stream with its progress.
func (s *Service) GetStream(ctx context.Context, name string) (Stream, error) {
	var r row
	err := s.Store.View(ctx, func(read store.Reader) (err error) {
		if r.Stream, err = read.Stream(ctx, name); err != nil {
			return err
		}
		r.tasks, err = read.StreamTasks(ctx, r.ID)
		return err
	})
	if err != nil {
		return Stream{}, s.streamFailure(err, name)
	}
	return s.described(r), nil
}

// ListStreams lists streams by name, with their progress.
func (s *Service) ListStreams(ctx context.Context, p Page) (List[Stream], error) {
	return listByName(ctx, s, p, func(ctx context.Context, read store.Reader, after string, limit int) ([]Stream, error) {
		rows, err := read.Streams(ctx, after, limit)
		if err != nil {
			return nil, err
		}
		out := make([]Stream, len(rows))
		for i := range rows {
			r := row{Stream: rows[i]}
			if r.tasks, err = read.StreamTasks(ctx, r.ID); err != nil {
				return nil, err
			}
			out[i] = s.described(r)
		}
		return out, nil
	}, func(v Stream) string { return v.Name })
}

// described adds what the leader knows.
func (s *Service) described(r row) Stream {
	out := view(r.Stream)
	reports := s.board.reports(r)
	out.Start = startRecord(r, reports)
	p := s.picture.Load()
	if _, err := s.term(); err != nil || p == nil {
		return out
	}
	out.Progress = s.progress(r)
	out.Waiting = s.waiting(p, r, reports)
	return out
}

// waiting says in words what keeps a stream from where it should be.
func (s *Service) waiting(p *picture, r row, reports map[ident.Task]TaskReport) string {
	d := s.decision(p, r)
	switch {
	case d.Why != "":
		return d.Why
	case d.Do == decide.EnsureTopics || d.Do == decide.DeleteTopics:
		if d.Cause != nil {
			return d.Cause.Message
		}
		return "its topics are being looked after"
	}
	var notes []string
	for id, report := range reports {
		if report.Note != "" {
			notes = append(notes, id.String()+": "+report.Note)
		}
	}
	slices.Sort(notes)
	return strings.Join(notes, ", ")
}

// StreamTasks lists a stream's tasks with their reports.
func (s *Service) StreamTasks(ctx context.Context, name string) ([]TaskStatus, error) {
	var r row
	nodes := map[ident.NodeID]store.Node{}
	err := s.Store.View(ctx, func(read store.Reader) (err error) {
		if r.Stream, err = read.Stream(ctx, name); err != nil {
			return err
		}
		if r.tasks, err = read.StreamTasks(ctx, r.ID); err != nil {
			return err
		}
		all, err := read.Nodes(ctx)
		for _, n := range all {
			nodes[n.ID] = n
		}
		return err
	})
	if err != nil {
		return nil, s.streamFailure(err, name)
	}
	reports := s.board.reports(r)
	out := make([]TaskStatus, len(r.tasks))
	for i, placed := range placedTasks(&picture{nodes: nodes}, r) {
		out[i].PlacedTask = placed
		if report, ok := reports[placed.Task]; ok {
			out[i].Report = &report
		}
	}
	return out, nil
}
