package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

// attempts is how often a transaction is run that met a deadlock. Two are enough for any pair; more is a fault.
const attempts = 4

// View runs fn on one snapshot.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	db, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return translate("read metastore", err)
	}
	defer rollback(ctx, db)
	return fn(&tx{q: query.New(db)})
}

// Update runs fn in one transaction under the lease term.
func (s *Store) Update(ctx context.Context, term ident.Term, fn func(store.Tx) error) error {
	var err error
	for range attempts {
		if err = s.update(ctx, term, fn); !errors.Is(err, errDeadlock) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", store.ErrBusy, err)
}

func (s *Store) update(ctx context.Context, term ident.Term, fn func(store.Tx) error) error {
	db, err := s.pool.Begin(ctx)
	if err != nil {
		return translate("begin update", err)
	}
	defer rollback(ctx, db)
	t := &tx{q: query.New(db)}
	current, err := t.q.ShareTerm(ctx)
	if err != nil {
		return translate("share lease term", err)
	}
	t.term = ident.Term(current)
	if term != store.AnyTerm && term != t.term {
		return fmt.Errorf("%w: %d, the current one is %d", store.ErrStaleTerm, term, current)
	}
	if err := fn(t); err != nil {
		return err
	}
	if t.wrote {
		if err := t.q.Wake(ctx); err != nil {
			return translate("wake watchers", err)
		}
	}
	return commitError(db.Commit(ctx))
}

// rollback ends a transaction that was not committed; after Commit it does nothing. Its own failure means a broken
// session, and that has ended the transaction.
func rollback(ctx context.Context, db pgx.Tx) { _ = db.Rollback(context.WithoutCancel(ctx)) }

// tx is a store.Tx. All methods of one tx are called by one goroutine.
type tx struct {
	q     *query.Queries
	term  ident.Term
	wrote bool // something to wake watchers for
}

// Term is the current lease term, locked.
func (t *tx) Term() ident.Term { return t.term }
