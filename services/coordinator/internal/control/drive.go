package control

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

const (
	// requestAgain is how long a source task that has not answered is left alone before it is asked again, ms (DESIGN §7).
	requestAgain ident.MonoMs = 1_000
	// requestTimeout bounds one request to a node.
	requestTimeout = 5 * time.Second
	// lastAgain is how long a stream's last checkpoint waits after one that failed, ms: nothing else is left to do for it,
	// so the stream's own interval may be too long, and at once would be a loop.
	lastAgain ident.MonoMs = 1_000
)

// stepCheckpoints does the next thing for every checkpoint: begin those that are due, ask, complete, fail. It returns when
// time alone makes something due; 0: never.
func (s *Service) stepCheckpoints(ctx context.Context, p *picture, wg *sync.WaitGroup) (wrote bool, at ident.MonoMs, err error) {
	now := s.Clock.Mono()
	facts := make([]checkpoint.Stream, 0, len(p.rows))
	for _, r := range p.rows {
		if !working(r.State) {
			continue
		}
		f, again := s.checkpointFacts(p, r, now)
		facts, at = append(facts, f), sooner(at, again)
	}
	for _, f := range facts {
		if f.Running == nil {
			continue
		}
		r, _ := p.row(f.ID)
		d := checkpoint.Step(f, now)
		at = sooner(at, d.At)
		did, stepErr := s.stepCheckpoint(ctx, p, r, d, wg)
		if errors.Is(stepErr, store.ErrStaleTerm) || errors.Is(stepErr, store.ErrDown) {
			return wrote, at, stepErr
		}
		s.report(ctx, "step checkpoint of stream "+r.Name, stepErr)
		if d.Do == checkpoint.Request {
			at = sooner(at, now+requestAgain)
		}
		wrote = wrote || did
	}
	starts, again := checkpoint.Begin(facts, s.config.Checkpoints, now)
	for _, b := range starts {
		r, _ := p.row(b.Stream)
		beginErr := s.beginCheckpoint(ctx, p, r, b.Kind)
		if errors.Is(beginErr, store.ErrStaleTerm) || errors.Is(beginErr, store.ErrDown) {
			return wrote, at, beginErr
		}
		s.report(ctx, "begin a checkpoint of stream "+r.Name, beginErr)
		wrote = wrote || beginErr == nil
	}
	return wrote, sooner(at, again), nil
}

// sooner is the earlier of two times, where 0 is never.
func sooner(a, b ident.MonoMs) ident.MonoMs {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// checkpointFacts is all that the core is told about a stream, and when to look again for its last checkpoint.
func (s *Service) checkpointFacts(p *picture, r row, now ident.MonoMs) (checkpoint.Stream, ident.MonoMs) {
	layout := s.layout(r)
	reports := s.board.reports(r)
	f := checkpoint.Stream{ID: r.ID, Settings: layout.Checkpoints, FailedInRow: r.Failed, Unable: s.unable(p, r, reports, now)}
	if layout.err != nil {
		f.Unable = layout.err.Error()
	}
	var again ident.MonoMs
	s.courses.look(r, now, func(k *course) {
		f.Since = k.since
		f.Moved = k.covered == nil || *k.covered != positionOf(reports) || flowing(reports)
		if r.waiting != nil {
			f.Asked, f.AskedSince = r.waiting.Kind, k.asked
		} else if allFinished(r, reports) && !r.lastComplete() {
			if r.Failed > 0 && now < k.since+lastAgain {
				again = k.since + lastAgain
				f.Moved = false
			} else {
				f.Asked, f.AskedSince = checkpoint.Last, now
			}
		}
		if r.running != nil {
			f.Running = s.running(p, r, k)
		}
	})
	return f, again
}

// running puts together what is known of the stream's running checkpoint.
func (s *Service) running(p *picture, r row, k *course) *checkpoint.Running {
	out := &checkpoint.Running{ID: r.running.ID, Tx: r.running.Tx, Kind: r.running.Kind, Began: k.began, Progress: k.progress}
	heard := s.parts.of(r.running.Attempt(), r.tasks)
	for _, t := range r.tasks {
		part := checkpoint.Part{Task: t.Task, Node: t.Place.Node, Asked: t.Task.Level == ident.LevelSource, Gone: p.life(t.Place) == decide.Gone}
		if a, ok := k.answers[t.Task]; ok {
			part.Taken = a.refused == nil
			blame(&part, a.refused)
		}
		if h, ok := heard[t.Task]; ok {
			out.Progress = max(out.Progress, h.at)
			part.Done = h.Failure == nil
			blame(&part, h.Failure)
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// unable says why the stream takes no checkpoint now; "": it does. Its tasks say so, not its nodes: a heartbeat alone
// tells nothing about a task that is still starting.
func (s *Service) unable(p *picture, r row, reports map[ident.Task]TaskReport, now ident.MonoMs) string {
	switch {
	case r.StageDue || !r.Ready:
		return "its stage is not ready"
	case r.State == task.StreamPausing:
		return "it is pausing"
	}
	for _, t := range r.tasks {
		report, ok := reports[t.Task]
		switch {
		case p.life(t.Place) != decide.Alive || s.board.silence(t.Place.Node, now) > SuspectAfter:
			return "nothing is heard from " + string(t.Place.Node)
		case !ok || !decide.Ready(task.State(report.State)):
			return t.Task.String() + " is not ready"
		}
	}
	return ""
}

func positionOf(reports map[ident.Task]TaskReport) (p position) {
	for _, r := range reports {
		p.watermarks += int64(r.Watermark) // may wrap around: equal sums of rising numbers are equal numbers all the same
		for _, part := range r.Partitions {
			p.offsets += int64(part.Next)
		}
	}
	return p
}

// flowing tells whether records come in between the reports: positions are known once a second, checkpoints may be due
// more often.
func flowing(reports map[ident.Task]TaskReport) bool {
	for _, r := range reports {
		if r.RecordsPerSecond > 0 {
			return true
		}
	}
	return false
}

// allFinished tells whether every task has reached its bound.
func allFinished(r row, reports map[ident.Task]TaskReport) bool {
	for _, t := range r.tasks {
		if task.State(reports[t.Task].State) != task.Finished {
			return false
		}
	}
	return len(r.tasks) > 0
}

// lastComplete tells whether the stage's last checkpoint is complete.
func (r row) lastComplete() bool {
	c := r.newest
	return c.Kind == checkpoint.Last && c.Stage == r.Stage && c.ID == r.Complete && r.Complete > 0
}

// concluded tells whether everything has been done for a bounded stream: its last checkpoint is complete, and every task
// has done what follows from it. Before, a transactional output may not have shown all.
func (s *Service) concluded(r row) bool {
	if !r.lastComplete() {
		return false
	}
	reports := s.board.reports(r)
	for _, t := range r.tasks {
		if reports[t.Task].Committed < r.Complete {
			return false
		}
	}
	return true
}

// beginCheckpoint writes that one begins.
func (s *Service) beginCheckpoint(ctx context.Context, p *picture, r row, kind checkpoint.Kind) error {
	at := positionOf(s.board.reports(r))
	deadline := time.Duration(s.layout(r).Checkpoints.TimeoutMs) * time.Millisecond
	var c store.Checkpoint
	err := s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = store.BeginCheckpoint(ctx, tx, store.Begin{Stream: r.ID, Stage: r.Stage, Kind: kind, Deadline: deadline})
		return err
	})
	switch {
	case errors.Is(err, store.ErrVoid), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNotFound):
		return nil // the stream went on meanwhile; the loop looks again
	case err != nil:
		return err // also when the outcome is unknown: then the rows say whether it runs
	}
	s.courses.begun(c.Attempt(), at, s.Clock.Mono())
	return failpoint.Hit(failpoint.ControlBegun)
}

// stepCheckpoint does what the core says about a running checkpoint.
func (s *Service) stepCheckpoint(ctx context.Context, p *picture, r row, d checkpoint.Decision, wg *sync.WaitGroup) (wrote bool, err error) {
	switch d.Do {
	case checkpoint.Wait:
		return false, nil
	case checkpoint.Request:
		s.request(ctx, p, r, d, wg)
		return false, nil
	case checkpoint.Complete:
		err = s.completeCheckpoint(ctx, p, r)
	case checkpoint.Fail:
		err = s.failCheckpoint(ctx, p, r, d)
	}
	if errors.Is(err, store.ErrVoid) || errors.Is(err, store.ErrNotFound) {
		return true, nil // a reset, or another leader, was first; the loop looks again
	}
	return err == nil, err // what fails is done again with the next look, not at once
}

// request asks the nodes of source tasks, beside the loop, for the parts of tasks that have not answered.
func (s *Service) request(ctx context.Context, p *picture, r row, d checkpoint.Decision, wg *sync.WaitGroup) {
	a := r.running.Attempt()
	byNode := map[ident.NodeID]*CheckpointRequest{}
	for _, t := range r.tasks {
		for _, asked := range d.Ask {
			if asked != t.Task {
				continue
			}
			q := byNode[t.Place.Node]
			if q == nil {
				q = &CheckpointRequest{Term: p.term, Place: t.Place, Attempt: a, Left: d.LeftMs}
				byNode[t.Place.Node] = q
			}
			q.Tasks = append(q.Tasks, t.Task)
		}
	}
	for node, q := range byNode {
		if !s.courses.call(a, node, s.Clock.Mono()) {
			continue
		}
		address := p.nodes[node].Address
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			answers, err := s.Nodes.Request(ctx, address, *q)
			if err != nil {
				s.Log.Debug("ask for a checkpoint", "stream", r.Name, "checkpoint", a.Checkpoint, "node", node, "error", err) // asked again
			}
			out := map[ident.Task]answered{}
			for _, x := range answers {
				out[x.Task] = answered{x.Refused}
			}
			s.courses.returned(a, node, out, s.Clock.Mono())
			s.wake()
		})
	}
}

// completeCheckpoint writes that all parts are there, and drops what retention does not keep any more.
func (s *Service) completeCheckpoint(ctx context.Context, p *picture, r row) error {
	a := r.running.Attempt()
	var parts []store.CheckpointTask
	for t, h := range s.parts.of(a, r.tasks) {
		parts = append(parts, store.CheckpointTask{Task: t, Node: h.from.Node, Manifest: h.Manifest, Cost: h.Cost, Sinks: h.Sinks})
	}
	retain := s.layout(r).Checkpoints.Retain
	if err := failpoint.Hit(failpoint.ControlBeforeComplete); err != nil {
		return err
	}
	var c store.Checkpoint
	err := s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) (err error) {
		if c, err = store.CompleteCheckpoint(ctx, tx, a, parts); err != nil {
			return err
		}
		_, err = store.DropCheckpoints(ctx, tx, a.Stream, retain)
		return err
	})
	if err != nil {
		return err // where the outcome is unknown the rows will say
	}
	s.Metrics.completed(r.Name, s.courses.completed(a, s.Clock.Mono()), c)
	return failpoint.Hit(failpoint.ControlCompleted)
}

// checkpointAges tells how long ago each stream's newest complete checkpoint was complete, as far as this leader knows.
func (s *Service) checkpointAges(tell func(stream string, age time.Duration)) {
	p := s.picture.Load()
	if p == nil || !s.Leader().Self {
		return
	}
	now := s.Clock.Mono()
	for _, r := range p.rows {
		if at := s.courses.lastComplete(r.ID); at != 0 {
			tell(r.Name, time.Duration(now-at)*time.Millisecond)
		}
	}
}

// failCheckpoint writes that it has failed. That never fails the stream; many in a row are somebody's business.
func (s *Service) failCheckpoint(ctx context.Context, p *picture, r row, d checkpoint.Decision) error {
	a, retain := r.running.Attempt(), s.layout(r).Checkpoints.Retain
	err := s.guarded(ctx, p.term, func(ctx context.Context, tx store.Tx) error {
		if _, err := store.FailCheckpoint(ctx, tx, a, store.Cause{Code: d.Code, Message: d.Reason}); err != nil {
			return err
		}
		e := streamEvent(r.Stream, store.Warning, "checkpoint_failed", "checkpoint %d: %s", a.Checkpoint, d.Reason)
		if d.Alert {
			e = streamEvent(r.Stream, store.Alert, "checkpoints_failing", "%s failed in a row; the last, %d: %s",
				counted(r.Failed+1, "checkpoint"), a.Checkpoint, d.Reason)
		}
		if err := tx.InsertEvent(ctx, e); err != nil {
			return err
		}
		_, err := store.DropCheckpoints(ctx, tx, a.Stream, retain) // older failures: a stream may fail for weeks
		return err
	})
	if err == nil {
		s.Metrics.failed(r.Name)
	}
	return err
}

// blame notes why a part has failed; nil: it has not.
func blame(p *checkpoint.Part, c *Cause) {
	if c != nil {
		p.Code, p.Failed = c.Code, cmp.Or(c.Message, c.Code)
	}
}
