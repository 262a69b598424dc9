package store

import (
	"context"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store/lease"
)

// Leases are the statements of the lease (package lease). Every one names its term.
type Leases interface {
	// Lease reads both rows at one moment.
	Lease(ctx context.Context) (lease.Seen, error)
	// TakeOver raises the term for holder if the rows are as they were seen; otherwise ErrStaleTerm. ErrBusy: a
	// transaction of the old holder holds the term row; EndSessions and again. ErrTooOld: this binary must not lead.
	TakeOver(ctx context.Context, holder string, from lease.Seen) (ident.Term, error)
	// RenewLease raises the term's beat; ErrStaleTerm when the term is not the current one or was given up.
	RenewLease(ctx context.Context, term ident.Term) error
	// ReleaseLease marks the term as given up; ErrStaleTerm when it is not the current one.
	ReleaseLease(ctx context.Context, term ident.Term) error
	// EndSessions ends the metastore sessions of a holder that does not answer.
	EndSessions(ctx context.Context, holder string) error
}
