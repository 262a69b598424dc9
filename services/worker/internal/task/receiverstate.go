package task

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/watermark"
)

// enter implements member.
func (r *Receiver) enter(e task.Event) { r.apply(e) }

// flushed implements member: nothing has changed that was not given out.
func (r *Receiver) flushed(ctx context.Context) error { return r.rows.Settle(output{r, ctx}) }

// frozen implements member. Positions in the edge are not kept: a stage begins at its end (DESIGN §4).
func (r *Receiver) frozen(m *manifest.Manifest) {
	st := r.wm.State(r.mono())
	m.Merge = &manifest.Merge{Watermark: st.Watermark, SilenceMs: st.SilenceMs}
	for _, t := range slices.SortedFunc(maps.Keys(st.Upstreams), ident.Task.Compare) {
		m.Merge.Upstreams = append(m.Merge.Upstreams, manifest.Upstream{Task: t.String(), Watermark: st.Upstreams[t]})
	}
}

// restoredMerge is the watermark's state in the manifest that the stage goes on from; nil: it has none.
func restoredMerge(c *Checkpoints) (*watermark.MergeState, error) {
	if c == nil || c.Restored == nil || c.Restored.Merge == nil {
		return nil, nil
	}
	in := c.Restored.Merge
	st := &watermark.MergeState{Watermark: in.Watermark, SilenceMs: in.SilenceMs, Upstreams: map[ident.Task]ident.EventMs{}}
	for _, u := range in.Upstreams {
		t, err := ident.ParseTask(u.Task)
		if err != nil {
			return nil, fmt.Errorf("restore from checkpoint %d: %w", c.Restored.Checkpoint, err)
		}
		st.Upstreams[t] = u.Watermark
	}
	return st, nil
}

// windows implements member.
func (r *Receiver) windows() *keyed { return r.keyed }

// rules implements member.
func (r *Receiver) rules(e dispatch.ReceiveEvent) error { return r.step(e) }

// forward implements member: no edge leads on from here.
func (r *Receiver) forward(context.Context, align.Forward) error { return nil }

// sent implements member.
func (r *Receiver) sent(ident.Task) align.Position { return align.Position{Offset: align.NoOffset} }

// reached implements member. What was received of an input that is open is processed.
func (r *Receiver) reached(upstream ident.Task) align.Position {
	return align.Position{Msg: r.core.Received(upstream), Offset: r.read}
}

// aligned hands the rules' words about a checkpoint to the alignment.
func (r *Receiver) aligned(f dispatch.ReceiveEffect) error {
	switch f := f.(type) {
	case dispatch.AlignmentBegan:
		left, ok := leftOf(r.bodies[f.Trigger.Body].value)
		if !ok {
			return r.corrupt(fmt.Errorf("offset %d: the trigger of checkpoint %d has no time left in it", f.Trigger.Offset, f.Checkpoint))
		}
		r.participant.queue(align.Began{Checkpoint: f.Checkpoint, Tx: f.Tx, Deadline: f.Trigger.At + left, Now: r.mono()})
	case dispatch.TriggerIn:
		r.participant.queue(align.TriggerIn{From: f.From, Checkpoint: f.Checkpoint})
	case dispatch.AllIn:
		r.participant.queue(align.AllIn{Checkpoint: f.Checkpoint})
	}
	return nil
}

// work obeys the alignment and processes what the rules have let through, until neither has anything left: what one does
// may bring work for the other. The alignment goes first: the barrier lies ahead of what is still queued.
func (r *Receiver) work(ctx context.Context) error {
	for {
		if err := r.participant.drain(ctx); err != nil {
			return err
		}
		if len(r.queue) == 0 {
			return nil
		}
		a := r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		if err := r.process(ctx, a); err != nil {
			return err
		}
	}
}

// needed is the offset below which nothing of the partition is needed any more: what was skipped is read again.
func (r *Receiver) needed() ident.NextOffset {
	if from, ok := r.core.Wanted(); ok {
		return min(from, r.position)
	}
	return r.position
}
