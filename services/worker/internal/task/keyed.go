package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pipeline"
	"github.com/pondage/pondage/internal/state"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/window"
)

// keyed is the checkpoints' side of a receiver's windows: the chain of files, and what of it is not durable yet. It belongs to
// the task's goroutine, but for snapshot.write.
//
// A file that is durable stays in the chain whatever becomes of its checkpoint: what it holds is not "changed" any more for
// the next one. What did not become durable is given back. Of files of failed checkpoints a manifest may name those above
// the newest complete one (package storage): the chain names each in every manifest from its own on, until a base.
type keyed struct {
	rows     pipeline.Receiving
	windows  window.Checkpointed
	operator manifest.Operator
	chain    *state.Chain
	open     *snapshot // the last one, while it is not durable; nil: none
}

// newKeyed returns the keyed state of a receiver whose windows have not changed yet; nil when it has none.
func newKeyed(c *ReceiverConfig, rows pipeline.Receiving) *keyed {
	operator, ok := c.Plan.Operator()
	if !ok || c.Checkpoints == nil {
		return nil
	}
	k := &keyed{rows: rows, windows: rows.State(), operator: operator, chain: state.NewChain(nil, operator.ID)}
	if m := c.Checkpoints.Restored; m != nil {
		k.chain = state.NewChain(m.Files, operator.ID)
	}
	return k
}

// restore brings the windows back to the restored checkpoint, and begins to remember what changes. The newest file is read
// first: older ones do not change what it has. Errors: storage.ErrMissing, storage.ErrDamaged, those of state.Restore.
func (k *keyed) restore(ctx context.Context, c *Checkpoints, stream ident.StreamID) error {
	if k == nil {
		return nil
	}
	if m := c.Restored; m != nil && m.Merge != nil {
		if err := k.fits(m); err != nil {
			return err
		}
		r := k.windows.Restore(m.Merge.Watermark)
		for _, f := range slices.Backward(k.chain.Files()) {
			if err := k.read(ctx, c.Store, stream, f, r); err != nil {
				return fmt.Errorf("restore the windows from checkpoint %d: file %s: %w", m.Checkpoint, f.Hash, err)
			}
			r.NextFile()
		}
		r.End()
	}
	k.windows.Track()
	return nil
}

// fits refuses state of another operator: it would be left out in silence.
func (k *keyed) fits(m *manifest.Manifest) error {
	for _, o := range m.Operators {
		if o.ID != k.operator.ID {
			return fmt.Errorf("restore the windows from checkpoint %d: %w: it has the state of %s, the stream has %s", m.Checkpoint, state.ErrOperator, o.ID, k.operator.ID)
		}
	}
	return nil
}

func (k *keyed) read(ctx context.Context, s storage.Store, stream ident.StreamID, f manifest.File, r *window.Restoring) error {
	in, err := s.Open(ctx, stream, f)
	if err != nil {
		return err
	}
	err = state.Restore(interruptible{ctx, in}, k.operator, state.LostRefused, func() *block.Batch { return k.rows.Batch() }, r)
	return errors.Join(err, in.Close())
}

// interruptible ends reading with its context: a restore of much state does not hold up the end of its task.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// freeze takes what a checkpoint needs of the windows.
func (k *keyed) freeze(c ident.CheckpointID) *snapshot {
	if k == nil {
		return nil
	}
	s := &snapshot{checkpoint: c, operator: k.operator, role: k.chain.Next(), before: slices.Clone(k.chain.Files())}
	if s.role == manifest.RoleBase {
		s.cells, s.before = k.windows.FreezeAll(), nil
	} else {
		s.cells = k.windows.FreezeTouched()
	}
	k.open = s
	return s
}

// durable says that what was frozen for the checkpoint is, with its manifest.
func (k *keyed) durable(c ident.CheckpointID) {
	if k == nil || k.open == nil || k.open.checkpoint != c {
		return
	}
	if f := k.open.file; f != nil {
		k.chain.Add(*f)
	}
	k.open = nil
}

// failed says that a checkpoint has failed. What of it is durable stays in the chain.
func (k *keyed) failed(c ident.CheckpointID) {
	if k == nil || k.open == nil || k.open.checkpoint != c {
		return
	}
	k.windows.GiveBack(k.open.cells)
	k.open = nil
}

// snapshot is what was frozen for one checkpoint.
type snapshot struct {
	checkpoint ident.CheckpointID
	operator   manifest.Operator
	role       manifest.Role
	cells      *window.Frozen
	before     []manifest.File // what the new file stands on
	file       *manifest.File  // once it is written; nil: nothing had changed
}

// write makes it durable and notes it in the manifest. From any goroutine.
func (s *snapshot) write(ctx context.Context, store storage.Store, m *manifest.Manifest, self ident.Task) error {
	if s == nil {
		return nil
	}
	m.Operators, m.Files = []manifest.Operator{s.operator}, s.before
	if s.cells.Len() == 0 && s.role == manifest.RoleDelta {
		return nil
	}
	w, err := store.Create(ctx, m.Stream, self, s.checkpoint)
	if err != nil {
		return fmt.Errorf("write the windows: %w", err)
	}
	defer w.Abort() // nothing once it is committed
	if _, err := state.Write(w, state.Header{Operator: s.operator}, s.cells); err != nil {
		return fmt.Errorf("write the windows: %w", err)
	}
	f, err := w.Commit()
	if err != nil {
		return fmt.Errorf("write the windows: %w", err)
	}
	f.Role, f.Of = s.role, s.operator.ID
	s.file = &f
	m.Files = append(m.Files, f)
	return nil
}
