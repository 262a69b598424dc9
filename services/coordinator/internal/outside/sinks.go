package outside

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// Sinks are the databases of Postgres outputs. It implements control.Sinks.
type Sinks struct {
	Hub *connect.Hub
	Env plan.Env
}

var _ control.Sinks = Sinks{}

// Check implements control.Sinks. It makes nothing: a table is made by the first task that writes to it.
func (s Sinks) Check(ctx context.Context, source, stream []byte) error {
	table, pool, err := s.table(source, stream)
	if err != nil || table == nil {
		return err
	}
	return sinkError(table.Check(ctx, pool))
}

// Leave implements control.Sinks.
func (s Sinks) Leave(ctx context.Context, cluster ident.Cluster, id ident.StreamID, source, stream []byte) error {
	table, pool, err := s.table(source, stream)
	if err != nil || table == nil {
		return err
	}
	return table.Leave(ctx, pool, cluster, id)
}

// table returns the target of the stream's Postgres output and its database; nil: it has none.
func (s Sinks) table(source, stream []byte) (*pgtable.Table, *pgxpool.Pool, error) {
	src, err := spec.ParseSource(source)
	if err != nil {
		return nil, nil, err
	}
	st, err := spec.ParseStream(stream)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.Build(src, st, s.Env)
	if err != nil {
		return nil, nil, err
	}
	out := st.Outputs.Postgres
	if out == nil {
		return nil, nil, nil
	}
	pool, err := s.Hub.Postgres(out.DSN)
	if err != nil {
		return nil, nil, &control.Error{Code: control.CodeSinkUnreachable, Message: err.Error(), Err: err}
	}
	t := pgtable.Of(out.Table, p.Result.Fields(), p.Result.KeyNames())
	if out.Delivery == spec.DeliveryTransactional {
		t.Delivery = pgtable.Transactional
	}
	return t, pool, nil
}

func sinkError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgtable.ErrMismatch) {
		return &control.Error{Code: control.CodeTargetMismatch, Message: err.Error(), Err: err, Hint: "choose another table, or drop this one if its rows are not needed"}
	}
	out := &control.Error{Code: control.CodeSinkUnreachable, Message: "the database of the Postgres output: " + err.Error(), Err: err, Retryable: true}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		out.Retryable = false
		out.Hint = "check the database's name, user and rights (pondage doctor); then repeat this request"
		return out
	}
	out.Hint = "check that it runs and how it is reached (pondage doctor); then repeat this request"
	return out
}
