package control

import (
	"context"
	"errors"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func viewSource(s store.Source) Source {
	return Source{Name: s.Name, Version: s.Version, Spec: s.Spec, Created: s.Created, Updated: s.Updated}
}

// CreateSource makes a source. Its topic need not exist yet.
func (s *Service) CreateSource(ctx context.Context, r Request, doc []byte) (Source, error) {
	plan, err := s.Planner.Source(doc)
	if err != nil {
		return Source{}, err
	}
	return once(ctx, s, operation{r, "create source", plan.Doc}, func(ctx context.Context, tx store.Tx) (Source, error) {
		row, err := tx.InsertSource(ctx, store.Source{Name: plan.Name, Spec: plan.Doc})
		return viewSource(row), err
	})
}

// ListSources lists sources by name.
func (s *Service) ListSources(ctx context.Context, p Page) (List[Source], error) {
	return listByName(ctx, s, p, func(ctx context.Context, r store.Reader, after string, limit int) ([]Source, error) {
		rows, err := r.Sources(ctx, after, limit)
		out := make([]Source, len(rows))
		for i := range rows {
			out[i] = viewSource(rows[i])
		}
		return out, err
	}, func(v Source) string { return v.Name })
}

// GetSource returns a source with the streams that use it.
func (s *Service) GetSource(ctx context.Context, name string) (Source, error) {
	var out Source
	err := s.Store.View(ctx, func(r store.Reader) error {
		row, err := r.Source(ctx, name)
		if err != nil {
			return err
		}
		out = viewSource(row)
		out.Streams, err = r.StreamsOfSource(ctx, row.ID)
		return err
	})
	return out, s.sourceFailure(err, name)
}

func (s *Service) sourceFailure(err error, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return errorf(CodeSourceUnknown, "there is no source named %q", name)
	}
	return s.failure(err, CodeBusy)
}

// ReplaceSource changes a source.
func (s *Service) ReplaceSource(ctx context.Context, r Request, name string, doc []byte) (Source, error) {
	plan, err := s.Planner.Source(doc)
	if err != nil {
		return Source{}, err
	}
	if plan.Name != name {
		return Source{}, errorf(CodeNameMismatch, "the document names the source %q, the path %q", plan.Name, name)
	}
	out, err := once(ctx, s, operation{r, "replace source " + name, plan.Doc}, func(ctx context.Context, tx store.Tx) (Source, error) {
		row, err := tx.LockSource(ctx, name)
		if err != nil {
			return Source{}, err
		}
		if err := matches(r, row.Version, "source "+name); err != nil {
			return Source{}, err
		}
		row.Spec = plan.Doc
		row, err = tx.UpdateSource(ctx, row)
		return viewSource(row), err
	})
	return out, s.sourceFailure(err, name)
}

// DeleteSource removes a source that no stream uses.
func (s *Service) DeleteSource(ctx context.Context, r Request, name string) error {
	_, err := once(ctx, s, operation{r, "delete source " + name, nil}, func(ctx context.Context, tx store.Tx) (struct{}, error) {
		row, err := tx.LockSource(ctx, name)
		if err != nil {
			return struct{}{}, err
		}
		if err := matches(r, row.Version, "source "+name); err != nil {
			return struct{}{}, err
		}
		used, err := tx.StreamsOfSource(ctx, row.ID)
		if err != nil {
			return struct{}{}, err
		}
		if len(used) > 0 {
			return struct{}{}, errorf(CodeSourceInUse, "source %q is used by stream %q", name, used[0]).hinted("drop its streams first")
		}
		return struct{}{}, tx.DeleteSource(ctx, row.ID)
	})
	return s.sourceFailure(err, name)
}

// matches checks the version that a change was made for.
func matches(r Request, version int64, what string) error {
	if r.IfMatch != 0 && r.IfMatch != version {
		return errorf(CodeVersionMismatch, "%s is at version %d, the change was made for %d", what, version, r.IfMatch).
			hinted("read it again and repeat the change")
	}
	return nil
}
