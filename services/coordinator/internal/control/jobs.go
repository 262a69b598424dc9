package control

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// jobRetry is how long a failed job waits, in ms.
const jobRetry ident.MonoMs = 1_000

// jobs are the works outside the metastore that a stream waits for: making or deleting its topics. They run beside the
// loop, so that one hanging broker call holds up one stream; a stream has one at a time.
type jobs struct {
	mu  sync.Mutex
	all map[ident.StreamID]*job
}

// jobKind is what a job does.
type jobKind uint8

const (
	ensureTopics jobKind = 1 + iota
	deleteTopics
)

// job is the newest work for a stream.
type job struct {
	kind    jobKind
	stage   ident.Stage // that it was begun in: topics are checked anew for each stage
	running bool
	done    bool
	err     *decide.Cause
	final   bool
	retryAt ident.MonoMs
}

func newJobs() *jobs { return &jobs{all: map[ident.StreamID]*job{}} }

// reset forgets what is known, for a new term. What still runs ends by its context and is not listened to.
func (j *jobs) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = map[ident.StreamID]*job{}
}

// forget drops the streams that are no more.
func (j *jobs) forget(exists func(ident.StreamID) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.all, func(id ident.StreamID, _ *job) bool { return !exists(id) })
}

// topics tells how far the job of the kind is that was begun in the stage.
func (j *jobs) topics(id ident.StreamID, kind jobKind, stage ident.Stage) decide.Topics {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.all[id]
	if w == nil || w.kind != kind || w.stage != stage {
		return decide.Topics{}
	}
	return decide.Topics{Done: w.done, Err: w.err, Final: w.final}
}

// start runs work unless the stream has a job under way or waits before a retry.
func (j *jobs) start(id ident.StreamID, kind jobKind, stage ident.Stage, now ident.MonoMs) (*job, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.all[id]
	if w != nil && (w.running || (w.kind == kind && w.stage == stage && (w.done || now < w.retryAt))) {
		return nil, false
	}
	next := &job{kind: kind, stage: stage, running: true}
	if w != nil && w.kind == kind && w.stage == stage {
		next.err = w.err // shown until the next outcome
	}
	j.all[id] = next
	return next, true
}

// finish notes the outcome.
func (j *jobs) finish(w *job, err error, now ident.MonoMs) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w.running, w.done, w.err, w.final = false, err == nil, nil, false
	if err == nil {
		return
	}
	w.err, w.retryAt = causeOf(err), now+jobRetry
	var e *Error
	w.final = errors.As(err, &e) && !e.Retryable && decide.Named(e.Code)
}

// causeOf makes a cause of an error.
func causeOf(err error) *decide.Cause {
	var e *Error
	if errors.As(err, &e) {
		return &decide.Cause{Code: e.Code, Message: e.Error()}
	}
	return &decide.Cause{Code: CodeKafkaUnreachable, Message: err.Error()}
}

// runTopics starts the job that a decision asks for.
func (s *Service) runTopics(ctx context.Context, wg *sync.WaitGroup, p *picture, r row, kind jobKind) {
	w, started := s.jobs.start(r.ID, kind, r.Stage, s.Clock.Mono())
	if !started {
		return
	}
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, topicsTimeout)
		defer cancel()
		err := s.workOnTopics(ctx, p, r, kind)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("work on topics", "stream", r.Name, "error", err)
		}
		s.jobs.finish(w, err, s.Clock.Mono())
		s.wake()
	})
}

func (s *Service) workOnTopics(ctx context.Context, p *picture, r row, kind jobKind) error {
	if kind == deleteTopics {
		dropped := droppedTopics(p.cluster.Name, r)
		if err := s.Edges.Delete(ctx, dropped); err != nil {
			return err
		}
		return s.leaveOutputs(ctx, p, r, dropped)
	}
	set, err := s.topicSet(p.cluster.Name, r)
	if err != nil {
		return err
	}
	return s.Edges.Ensure(ctx, set)
}

// leaveWithin bounds what a dropped stream waits for each system that its results are in.
const leaveWithin = 5 * time.Second

// leaveOutputs cleans up behind a dropped stream where its results are. Brokers or a database that are away or say no are no
// reason to keep the stream: an event names what stays there.
func (s *Service) leaveOutputs(ctx context.Context, p *picture, r row, dropped TopicSet) error {
	for _, output := range []struct {
		stays string
		clean func(context.Context) error
	}{
		{"markers and open transactions of the Kafka output", func(ctx context.Context) error { return s.Edges.Forget(ctx, dropped) }},
		{"tables beside the results and rows in the schema pondage", func(ctx context.Context) error {
			return s.Sinks.Leave(ctx, p.cluster.Name, r.ID, r.SourceSpec, r.Spec)
		}},
	} {
		within, cancel := context.WithTimeout(ctx, leaveWithin)
		why := output.clean(within)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if why == nil {
			continue
		}
		s.Log.Warn("clean up behind a dropped stream", "stream", r.Name, "stays", output.stays, "error", why)
		err := s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) error {
			return tx.InsertEvent(ctx, streamEvent(r.Stream, store.Warning, "output_not_cleaned", "%s stay: %v", output.stays, why))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// topicSet names the topics that a stream needs.
func (s *Service) topicSet(cluster ident.Cluster, r row) (TopicSet, error) {
	layout := s.layout(r)
	if layout.err != nil {
		return TopicSet{}, planError(layout.err)
	}
	source, err := s.Planner.Source(r.SourceSpec)
	if err != nil {
		return TopicSet{}, planError(err)
	}
	set := TopicSet{Late: cluster.LateTopic(r.Name), Dead: cluster.DeadTopic(source.Name)}
	for _, level := range layout.Edges {
		set.Edges = append(set.Edges, cluster.EdgeTopic(r.Name, r.ID, level))
	}
	for _, t := range r.Targets {
		if t.Kind == TargetKafka {
			set.Output, set.Stream = t.Name, r.Spec
			set.Commits = cluster.CommitsTopic()
		}
	}
	return set, nil
}

// droppedTopics names what goes with a stream: every edge that it could have had, so that a specification which this
// binary no longer plans can be dropped, too.
func droppedTopics(cluster ident.Cluster, r row) TopicSet {
	set := TopicSet{Late: cluster.LateTopic(r.Name), Group: cluster.OffsetsGroup(r.Name), Source: r.SourceSpec}
	for _, level := range []ident.Level{ident.LevelAgg, ident.LevelSink, ident.LevelMerge, ident.LevelJoin} {
		set.Edges = append(set.Edges, cluster.EdgeTopic(r.Name, r.ID, level))
	}
	for _, t := range r.Targets {
		if t.Kind == TargetKafka {
			set.Output, set.Stream, set.Commits = t.Name, r.Spec, cluster.CommitsTopic()
		}
	}
	for _, t := range r.tasks {
		set.Transactions = append(set.Transactions, cluster.TransactionalID(r.Name, t.Task))
	}
	return set
}

// planError is the fault of a stored plan that this binary does not take: no repeating helps.
func planError(err error) error {
	return &Error{Code: CodePlanInvalid, Message: "the stored specification is not accepted by this binary", Err: err}
}
