package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// part is this task's part of a checkpoint, from the barrier to the verdict.
type part struct {
	manifest *manifest.Manifest
	state    *snapshot // nil: none
	cancel   context.CancelFunc

	align, sync, async time.Duration
	id                 manifest.Hash // once it is written
}

// freeze is the synchronous part: the trigger passes the sinks, then positions and state are noted.
func (p *Participant) freeze(ctx context.Context, f align.Freeze) error {
	began := time.Now()
	common := p.shell.common
	for _, o := range common.Outputs {
		if c, ok := o.(sink.Checkpointed); ok {
			if err := c.Trigger(ctx, f.Checkpoint); err != nil {
				return err
			}
		}
	}
	self := common.Self
	if common.Live != nil {
		common.Live.Passed(self.Task.VGroup, f.Checkpoint)
	}
	x := &part{manifest: &manifest.Manifest{
		Cluster: p.cfg.Cluster, Stream: self.Stream, Name: common.Plan.Stream.Name, Stage: self.Stage, Checkpoint: f.Checkpoint, Tx: f.Tx,
		Task: self.Task.String(), Plan: common.Plan.Fingerprint(),
	}}
	p.member.frozen(x.manifest)
	x.state = p.member.windows().freeze(f.Checkpoint)
	if !p.began.IsZero() {
		x.align = began.Sub(p.began)
	}
	p.began, x.sync = time.Time{}, time.Since(began)
	p.parts[f.Checkpoint] = x
	return failpoint.Hit(failpoint.CheckpointFrozen)
}

// write begins the asynchronous part.
func (p *Participant) write(x *part) {
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(p.lifetime)
	p.running.Go(func() {
		began := time.Now()
		id, err := p.persist(ctx, x)
		if ctx.Err() != nil {
			return // given up, or the task ends
		}
		c, now := x.manifest.Checkpoint, p.shell.mono()
		if err != nil {
			p.words.put(word{event: align.WriteFailed{Checkpoint: c, Failure: failureOf(err), Now: now}})
			return
		}
		// The task reads both only behind the word.
		x.async, x.id = time.Since(began), id
		p.words.put(word{event: align.Written{Checkpoint: c, Now: now}})
	})
}

// persist makes everything durable that the checkpoint says is done, the manifest last.
func (p *Participant) persist(ctx context.Context, x *part) (id manifest.Hash, err error) {
	m := x.manifest
	if err := p.writeState(ctx, x); err != nil {
		return id, err
	}
	if err := p.prepare(ctx, m); err != nil {
		return id, err
	}
	if err := p.shell.common.Aside.Flush(ctx); err != nil {
		return id, fmt.Errorf("write what was set aside: %w", err)
	}
	return p.cfg.Store.Commit(ctx, m)
}

// writeState writes the files. A place is held for that only: held while they wait for a sink that is down, the places of a
// node would all be with the tasks of one stream, and no other stream would have a checkpoint.
func (p *Participant) writeState(ctx context.Context, x *part) error {
	release, err := p.cfg.Node.Place(ctx)
	if err != nil {
		return err
	}
	defer release()
	return x.state.write(ctx, p.cfg.Store, x.manifest, p.shell.common.Self.Task)
}

// prepare makes the results durable that came before the trigger.
func (p *Participant) prepare(ctx context.Context, m *manifest.Manifest) error {
	for _, o := range p.shell.common.Outputs {
		c, ok := o.(sink.Checkpointed)
		if !ok {
			if err := o.Flush(ctx); err != nil {
				return fmt.Errorf("write the results: %w", err)
			}
			continue
		}
		s, files, err := c.Prepare(ctx, m.Checkpoint)
		if err != nil {
			return fmt.Errorf("prepare the results: %w", err)
		}
		m.Sinks, m.Files = append(m.Sinks, s), append(m.Files, files...)
	}
	return nil
}

// describe adds to a report what the part has come to.
func (x *part) describe(r *PartReport) {
	r.Manifest, r.Align, r.Sync, r.Async, r.Sinks = x.id, x.align, x.sync, x.async, x.manifest.Sinks
	for _, f := range x.manifest.Files {
		r.BytesFull += f.Bytes
		if f.Checkpoint == r.Checkpoint {
			r.BytesIncremental += f.Bytes
		}
	}
}

// commit lets the sinks do what follows from a complete checkpoint. It covers all older ones.
func (p *Participant) commit(c ident.CheckpointID) {
	p.publish(c)
	for id := range p.parts {
		if id <= c {
			delete(p.parts, id)
		}
	}
	outputs := p.shell.common.Outputs
	if feed := p.shell.common.Live; feed != nil {
		feed.Complete(c)
	}
	p.running.Go(func() {
		err := failpoint.Hit(failpoint.CheckpointBeforeCommit)
		if err == nil {
			err = complete(p.lifetime, outputs, c)
		}
		if err == nil {
			err = failpoint.Hit(failpoint.CheckpointCommitted)
		}
		now := p.shell.mono()
		switch {
		case p.lifetime.Err() != nil:
		case err != nil:
			p.shell.log.Warn("the results of a complete checkpoint are not shown yet; tried again", "checkpoint", c, "error", err)
			p.words.put(word{event: align.CommitFailed{Now: now}})
		default:
			p.words.put(word{event: align.Committed{Checkpoint: c, Now: now}})
		}
	})
}

// publish tells tools where the source was at a complete checkpoint: of this stage, or the restored one.
func (p *Participant) publish(c ident.CheckpointID) {
	m := p.cfg.Restored
	if x := p.parts[c]; x != nil {
		m = x.manifest
	}
	if p.cfg.Positions != nil && m != nil && m.Checkpoint == c && m.Source != nil {
		p.cfg.Positions.Publish(m.Source.Partitions)
	}
}

func complete(ctx context.Context, outputs sink.Chain, c ident.CheckpointID) error {
	var errs []error
	for _, o := range outputs {
		if x, ok := o.(sink.Checkpointed); ok {
			errs = append(errs, x.Complete(ctx, c))
		}
	}
	return errors.Join(errs...)
}

// discard gives up what was frozen for a checkpoint that has failed.
func (p *Participant) discard(c ident.CheckpointID) {
	if x := p.parts[c]; x != nil {
		x.cancel()
		delete(p.parts, c)
	}
	p.member.windows().failed(c)
}

// The codes of a part that cannot be written.
const (
	codeDiskFull = "disk_full"
	codeWrite    = "write_failed"
)

func failureOf(err error) align.Failure {
	f := align.Failure{Code: codeWrite, Detail: err.Error()}
	switch {
	case errors.Is(err, storage.ErrFull):
		f.Code = codeDiskFull
	case errors.Is(err, storage.ErrFenced):
		f.Code = align.CodeOtherStage
	}
	return f
}
