package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
)

// transactional is the output whose readers see whole cuts only (DESIGN §9). It stages results as they come. When a checkpoint
// is complete, the task of the lowest vgroup moves those before it into the table, of all tasks in one transaction; the
// others see by the database's mark that this is done, wherever that task runs.
type transactional struct {
	postgres
	group []ident.VGroup     // of all sink tasks of the stream, rising
	cp    ident.CheckpointID // last trigger passed; the pump's
	rows  int64              // staged in this stage; the pump's

	mu      sync.Mutex
	marker  ident.CheckpointID // the newest that is known to be published
	problem Status             // of publishing
}

// NewPostgresTransactional returns an output that shows the results of complete checkpoints in the table. group are the
// vgroups of all sink tasks of the stream.
func NewPostgresTransactional(db pgtable.Beginner, table *pgtable.Table, fence pgtable.Fence, group []ident.VGroup, start Start, env Env) Output {
	o := &transactional{
		postgres: postgres{db: db, table: table, writer: pgtable.NewWriter(table), fence: fence, start: &start},
		group:    slices.Sorted(slices.Values(group)), cp: start.Restored,
	}
	o.pump = newPump(KindPostgres, env, o.open, o.write, stopsPostgres)
	o.passed = o.staged
	o.pump.start()
	return o
}

// open drops what dead stages have staged since the restored checkpoint: before the task reports its first one, and so before
// anything from after the restored one is published. What is staged from before it and not published is an open commit, which
// Complete of the restored checkpoint does.
func (o *transactional) open(ctx context.Context) error {
	if err := o.own(ctx); err != nil {
		return err
	}
	return o.within(ctx, func(ctx context.Context) error {
		marks, err := o.fence.Marks(ctx, o.db)
		if err != nil {
			return err
		}
		if err := o.wentBack(marks); err != nil {
			return err
		}
		o.published(marks.Published)
		if err := o.table.Unstage(ctx, o.db, o.fence, o.start.Restored); err != nil {
			return err
		}
		// A task that the checkpoint does not know has had nothing to stage.
		return o.fence.MarkStaged(ctx, o.db, o.start.Restored)
	})
}

// wentBack is the stop of a database that is older than the restored checkpoint: nil where it is not.
func (o *transactional) wentBack(m pgtable.Marks) error {
	said, c := o.start.Sink, o.start.Restored
	switch {
	case said == nil:
		return nil
	case m.Published < said.Marker:
		return wentBack(fmt.Errorf("the database of stream %d has published checkpoint %d, and had published %d: the results between are missing",
			o.fence.Stream, m.Published, said.Marker))
	case m.Published < c && m.Staged < c:
		return wentBack(fmt.Errorf("the database of stream %d has staged the results of vgroup %d up to checkpoint %d, and had staged those up to %d",
			o.fence.Stream, o.fence.VGroup, m.Staged, c))
	}
	return nil
}

func wentBack(err error) error { return &Stop{Code: CodeWentBack, Err: err} }

// write gives the batches' memory back when they are staged.
func (o *transactional) write(ctx context.Context, batches []*block.Batch) error {
	err := o.within(ctx, func(ctx context.Context) error {
		// A repetition numbers its rows as the attempt before, also those that are refused.
		return o.sifting(batches, func(part []*block.Batch, at int) error {
			_, err := o.writer.Stage(ctx, o.db, o.fence, o.cp, o.rows+int64(at), part)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, b := range batches {
		o.rows += int64(b.Rows())
	}
	o.written(batches)
	return nil
}

// staged notes in the database that everything before the trigger is staged.
func (o *transactional) staged(ctx context.Context, c ident.CheckpointID) error {
	err := o.within(ctx, func(ctx context.Context) error { return o.fence.MarkStaged(ctx, o.db, c) })
	if err == nil {
		o.cp = c
	}
	return err
}

// Prepare implements Checkpointed: what the pump has let pass is staged.
func (o *transactional) Prepare(ctx context.Context, c ident.CheckpointID) (manifest.Sink, []manifest.File, error) {
	if err := o.await(ctx, c); err != nil {
		return manifest.Sink{}, nil, err
	}
	if failpoint.On(failpoint.CommitEarly) {
		if _, err := o.writer.Publish(ctx, o.db, o.fence, c, nil); err != nil {
			return manifest.Sink{}, nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return manifest.Sink{Kind: KindPostgresTransactional, Marker: o.marker}, nil, nil
}

// Complete implements Checkpointed: it returns when the results from before c are in the table.
func (o *transactional) Complete(ctx context.Context, c ident.CheckpointID) error {
	if err := o.await(ctx, 0); err != nil {
		return err
	}
	if o.fence.VGroup != o.group[0] {
		return o.awaitPublished(ctx, c)
	}
	err := o.publish(ctx, c)
	o.tell(err)
	if err != nil && stopsPostgres(err) {
		o.halt(err)
	}
	return err
}

// publishWithin bounds one attempt to publish, somewhat above what the database bounds a statement by.
const publishWithin = 11 * time.Minute

func (o *transactional) publish(ctx context.Context, c ident.CheckpointID) error {
	var before ident.CheckpointID
	err := o.env.Gate.pass(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, publishWithin)
		defer cancel()
		before, err = o.writer.Publish(ctx, o.db, o.fence, c, o.group)
		return err
	})
	var missing *pgtable.ErrNotStaged
	if errors.As(err, &missing) && c > o.start.Restored {
		// All tasks of this stage have said that it is staged. Of the restored checkpoint, each task of the group looks for
		// itself when it begins, and some have yet to begin.
		return wentBack(err)
	}
	if err == nil {
		o.published(max(before, c))
	}
	return err
}

// How long one Complete waits for the task that publishes, and how often it looks. It is called again.
const (
	awaitWithin = 30 * time.Second
	awaitEvery  = 250 * time.Millisecond
)

func (o *transactional) awaitPublished(ctx context.Context, c ident.CheckpointID) error {
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	for {
		var marks pgtable.Marks
		err := o.within(ctx, func(ctx context.Context) (err error) {
			marks, err = o.fence.Marks(ctx, o.db)
			return err
		})
		if err != nil {
			return err
		}
		if marks.Published >= c {
			o.published(marks.Published)
			return nil
		}
		select {
		case <-time.After(jitter(awaitEvery)):
		case <-o.done:
			return o.ended()
		case <-ctx.Done():
			return fmt.Errorf("vgroup %d has not published checkpoint %d of stream %d: %w", o.group[0], c, o.fence.Stream, ctx.Err())
		}
	}
}

// published notes the newest checkpoint that is known to be published.
func (o *transactional) published(c ident.CheckpointID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.marker = max(o.marker, c)
}

// tell keeps the problem of publishing for the status.
func (o *transactional) tell(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.problem = Status{}
	case errors.Is(err, context.Canceled):
	case o.problem.Problem == "":
		o.problem = Status{Problem: err.Error(), Since: time.Now()}
	default:
		o.problem.Problem = err.Error()
	}
}

// Status implements Output: what keeps results from being staged, or from being published.
func (o *transactional) Status() Status {
	s := o.pump.Status()
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.Problem == "" {
		s.Problem, s.Since = o.problem.Problem, o.problem.Since
	}
	return s
}
