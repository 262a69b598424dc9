package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/migrations"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

var _ store.Leases = (*Store)(nil)

// endSessions is not among the generated queries: sqlc knows no system views.
const endSessions = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()`

// Lease reads both rows.
func (s *Store) Lease(ctx context.Context) (lease.Seen, error) {
	r, err := query.New(s.pool).Lease(ctx)
	return lease.Seen{Term: ident.Term(r.Term), Holder: r.Holder, Beat: r.Beat}, translate("read lease", err)
}

// TakeOver raises the term. The condition on the beat is the second statement's: a holder that renewed since it was
// seen is alive, and the term row is left as it was.
func (s *Store) TakeOver(ctx context.Context, holder string, from lease.Seen) (ident.Term, error) {
	op := fmt.Sprintf("take the lease over from term %d", from.Term)
	db, err := s.pool.Begin(ctx)
	if err != nil {
		return 0, translate(op, err)
	}
	defer rollback(ctx, db)
	q := query.New(db)
	// Under the lock that a migration takes first. Before it, the migration ends the term that is taken here; behind it, a
	// binary that the migration leaves behind finds so here: looking at the start of the process alone would let it lead.
	level, err := q.MinBinary(ctx)
	if err != nil {
		return 0, translate(op, err)
	}
	if level > migrations.Latest {
		return 0, fmt.Errorf("%s: the metastore's schema needs binaries that know level %d, this one knows %d: %w", op, level, migrations.Latest, store.ErrTooOld)
	}
	term, err := q.TakeOver(ctx, query.TakeOverParams{Term: int64(from.Term), Holder: holder})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("%s: %w", op, store.ErrStaleTerm)
	}
	if err != nil {
		return 0, translate(op, err)
	}
	n, err := q.BeginBeat(ctx, query.BeginBeatParams{NewTerm: term, SeenTerm: int64(from.Term), SeenBeat: from.Beat})
	if err != nil {
		return 0, translate(op, err)
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: it was renewed: %w", op, store.ErrStaleTerm)
	}
	return ident.Term(term), commitError(db.Commit(ctx))
}

// RenewLease raises the beat.
func (s *Store) RenewLease(ctx context.Context, term ident.Term) error {
	n, err := query.New(s.pool).Renew(ctx, int64(term))
	return named(fmt.Sprintf("renew lease of term %d", term), n, err)
}

// ReleaseLease gives the lease up.
func (s *Store) ReleaseLease(ctx context.Context, term ident.Term) error {
	n, err := query.New(s.pool).Release(ctx, int64(term))
	return named(fmt.Sprintf("release lease of term %d", term), n, err)
}

// named is the outcome of a statement that names its term: no row means another term.
func named(op string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return fmt.Errorf("%s: %w", op, store.ErrStaleTerm)
	}
	return translate(op, err)
}

// EndSessions ends the sessions of a holder by their application name.
func (s *Store) EndSessions(ctx context.Context, holder string) error {
	var ended int64
	err := s.pool.QueryRow(ctx, endSessions, s.applicationOf(holder)).Scan(&ended)
	return translate("end the sessions of "+holder, err)
}
