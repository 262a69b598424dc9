package pgstore

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func sourceOf(r query.Source) store.Source {
	return store.Source{ID: ident.SourceID(r.ID), Name: r.Name, Version: r.Version, Spec: r.Spec, Created: r.Created, Updated: r.Updated}
}

func (t *tx) Source(ctx context.Context, name string) (store.Source, error) {
	r, err := t.q.SourceByName(ctx, name)
	return sourceOf(r), translate("read source "+name, err)
}

func (t *tx) LockSource(ctx context.Context, name string) (store.Source, error) {
	r, err := t.q.LockSource(ctx, name)
	return sourceOf(r), translate("lock source "+name, err)
}

func (t *tx) Sources(ctx context.Context, after string, limit int) ([]store.Source, error) {
	rows, err := t.q.Sources(ctx, query.SourcesParams{Name: after, Limit: int32(limit)})
	return mapped(rows, sourceOf), translate("list sources", err)
}

func (t *tx) StreamsOfSource(ctx context.Context, id ident.SourceID) ([]string, error) {
	names, err := t.q.StreamNamesOfSource(ctx, int64(id))
	return names, translate(fmt.Sprintf("list streams of source %d", id), err)
}

func (t *tx) InsertSource(ctx context.Context, s store.Source) (store.Source, error) {
	t.wrote = true
	r, err := t.q.InsertSource(ctx, query.InsertSourceParams{Name: s.Name, Spec: s.Spec})
	return sourceOf(r), conflict("insert source "+s.Name, err, "source", s.Name)
}

func (t *tx) UpdateSource(ctx context.Context, s store.Source) (store.Source, error) {
	t.wrote = true
	r, err := t.q.UpdateSource(ctx, query.UpdateSourceParams{ID: int64(s.ID), Spec: s.Spec})
	return sourceOf(r), translate("update source "+s.Name, err)
}

func (t *tx) DeleteSource(ctx context.Context, id ident.SourceID) error {
	t.wrote = true
	n, err := t.q.DeleteSource(ctx, int64(id))
	return affected(fmt.Sprintf("delete source %d", id), n, err)
}

// affected is the outcome of a statement that should have met a row.
func affected(op string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return fmt.Errorf("%s: %w", op, store.ErrNotFound)
	}
	return translate(op, err)
}

func mapped[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}
