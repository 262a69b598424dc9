package sim

import (
	"errors"

	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// errTerm is the end of a coordinator: another one leads.
var errTerm = errors.New("another coordinator leads")

// attempt is the row of a checkpoint that waits or runs.
type attempt struct {
	id    ident.CheckpointID
	tx    ident.TxID
	kind  checkpoint.Kind
	stage ident.Stage
	term  ident.Term // that began it
}

// metastore is the stream's row and the rows of its checkpoints. Each method is one transaction.
type metastore struct {
	w          *world
	term       ident.Term
	generation int
	stage      ident.Stage
	start      ident.CheckpointID // what the stage has restored
	complete   ident.CheckpointID
	settled    ident.CheckpointID
	next       ident.CheckpointID
	running    *attempt // nil: none
	waiting    *attempt // nil: none
	failed     int      // in a row
	ever       map[ident.CheckpointID]bool
	txs        map[ident.TxID]bool
	counts     struct{ complete, failed int }
}

func newMetastore(w *world) *metastore {
	return &metastore{w: w, next: 1, ever: map[ident.CheckpointID]bool{0: true}, txs: map[ident.TxID]bool{}}
}

// leads is the lease's row: what another term has decided is not written.
func (m *metastore) leads(term ident.Term) error {
	if term != m.term {
		m.w.reach(OldTermWrite)
		return errTerm
	}
	return nil
}

// ask notes that a checkpoint is wanted, under the id that its user is told.
func (m *metastore) ask() {
	if m.waiting == nil {
		m.waiting = m.insert(checkpoint.Manual)
	}
}

func (m *metastore) insert(kind checkpoint.Kind) *attempt {
	a := &attempt{id: m.next, tx: ident.TxID(1000 + m.w.rand.IntN(1000)*1000 + int(m.next)), kind: kind}
	m.next++
	if m.txs[a.tx] || a.id <= m.settled {
		m.w.violated("I4", "checkpoint %d, transaction %d: given before", a.id, a.tx)
	}
	m.txs[a.tx] = true
	return a
}

// begin makes what waits the running checkpoint, or a new one.
func (m *metastore) begin(term ident.Term, stage ident.Stage, kind checkpoint.Kind) error {
	if err := m.leads(term); err != nil || m.running != nil || m.stage != stage {
		return err
	}
	m.running, m.waiting = m.waiting, nil
	if m.running == nil {
		m.running = m.insert(kind)
	}
	m.running.stage, m.running.term = stage, term
	return nil
}

// finish is complete(c): the lease's row with my term, the stream's row, its stage is the checkpoint's, it runs.
func (m *metastore) finish(term ident.Term, a attempt) error {
	if err := m.leads(term); err != nil || m.running == nil || *m.running != a || a.stage != m.stage {
		return err
	}
	if a.term != term {
		m.w.reach(Adopted)
	}
	m.set(a)
	return nil
}

func (m *metastore) set(a attempt) {
	m.complete, m.settled, m.running, m.failed = a.id, max(m.settled, a.id), nil, 0
	m.ever[a.id] = true
	m.counts.complete++
	if a.stage != m.stage {
		m.w.violated("I8", "checkpoint %d of stage %d is complete in stage %d", a.id, a.stage, m.stage)
	}
	m.w.store.check(a.id)
}

// fail ends the running checkpoint.
func (m *metastore) fail(term ident.Term, a attempt) error {
	if err := m.leads(term); err != nil || m.running == nil || *m.running != a {
		return err
	}
	m.end()
	return nil
}

func (m *metastore) end() {
	m.settled = max(m.settled, m.running.id)
	m.running = nil
	m.failed++
	m.counts.failed++
}

// raise is a reset, under the locks of complete: a checkpoint is complete before it and used by it, or never.
func (m *metastore) raise(term ident.Term) error {
	if err := m.leads(term); err != nil {
		return err
	}
	late := m.running
	if late != nil {
		m.end()
	}
	m.start = m.complete
	m.generation++
	if m.stage == 0 || !m.w.on(failpoint.ReuseStage) {
		m.stage++
	}
	if late != nil && m.w.store.whole(late.id) && m.w.on(failpoint.LateComplete) {
		m.set(*late)
	}
	return nil
}
