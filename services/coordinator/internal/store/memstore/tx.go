package memstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// tx reads and writes one state.
type tx struct {
	state *state
	wrote bool
}

func (t *tx) Term() ident.Term { return t.state.seen.Term }

func (t *tx) nextID() int64 {
	t.state.lastID++
	t.wrote = true
	return t.state.lastID
}

func notFound(kind string, id any) error { return fmt.Errorf("%s %v: %w", kind, id, store.ErrNotFound) }

// page returns up to limit of the values whose names are above after, by name.
func page[V any](all map[string]V, after string, limit int) []V {
	var names []string
	for name := range all {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []V
	for _, name := range names[:min(limit, len(names))] {
		out = append(out, all[name])
	}
	return out
}

func (t *tx) Cluster(context.Context) (store.Cluster, error) {
	if t.state.cluster == nil {
		return store.Cluster{}, notFound("cluster", "row")
	}
	return *t.state.cluster, nil
}

func (t *tx) InitCluster(_ context.Context, c store.Cluster) (store.Cluster, error) {
	if t.state.cluster == nil {
		t.wrote = true
		t.state.cluster = &c
		t.state.vgroups = make([]store.VGroup, c.VGroups)
		for i := range t.state.vgroups {
			t.state.vgroups[i].VGroup = ident.VGroup(i)
		}
	}
	return *t.state.cluster, nil
}

func (t *tx) Source(_ context.Context, name string) (store.Source, error) {
	s, ok := t.state.sources[name]
	if !ok {
		return s, notFound("source", name)
	}
	return s, nil
}

func (t *tx) LockSource(ctx context.Context, name string) (store.Source, error) {
	return t.Source(ctx, name)
}

func (t *tx) Sources(_ context.Context, after string, limit int) ([]store.Source, error) {
	return page(t.state.sources, after, limit), nil
}

func (t *tx) StreamsOfSource(_ context.Context, id ident.SourceID) ([]string, error) {
	var names []string
	for _, s := range t.state.streams {
		if s.Source == id {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (t *tx) InsertSource(_ context.Context, s store.Source) (store.Source, error) {
	if _, taken := t.state.sources[s.Name]; taken {
		return s, &store.ConflictError{Kind: "source", Name: s.Name}
	}
	s.ID, s.Version, s.Created = ident.SourceID(t.nextID()), 1, time.Now()
	s.Updated = s.Created
	t.state.sources[s.Name] = s
	return s, nil
}

func (t *tx) UpdateSource(_ context.Context, s store.Source) (store.Source, error) {
	old, ok := t.state.sources[s.Name]
	if !ok || old.ID != s.ID {
		return s, notFound("source", s.Name)
	}
	old.Spec, old.Version, old.Updated = s.Spec, old.Version+1, time.Now()
	t.state.sources[s.Name], t.wrote = old, true
	return old, nil
}

func (t *tx) DeleteSource(ctx context.Context, id ident.SourceID) error {
	if used, _ := t.StreamsOfSource(ctx, id); len(used) > 0 {
		return notFound("source without streams", id) // the foreign key
	}
	for name, s := range t.state.sources {
		if s.ID == id {
			delete(t.state.sources, name)
			t.wrote = true
			return nil
		}
	}
	return notFound("source", id)
}

func (t *tx) Nodes(context.Context) ([]store.Node, error) {
	var out []store.Node
	for _, n := range t.state.nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b store.Node) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

func (t *tx) LockNode(_ context.Context, id ident.NodeID) (store.Node, error) {
	n, ok := t.state.nodes[id]
	if !ok {
		return n, notFound("node", id)
	}
	return n, nil
}

func (t *tx) PutNode(_ context.Context, n store.Node) error {
	old, known := t.state.nodes[n.ID]
	n.Registered = time.Now()
	if known && old.Instance == n.Instance {
		n.Registered = old.Registered
	}
	t.state.nodes[n.ID], t.wrote = n, true
	return nil
}

func (t *tx) VGroups(context.Context) ([]store.VGroup, error) {
	return slices.Clone(t.state.vgroups), nil
}

func (t *tx) LockVGroups(ctx context.Context) ([]store.VGroup, error) { return t.VGroups(ctx) }

func (t *tx) PutVGroups(_ context.Context, vgroups []store.VGroup) error {
	for _, v := range vgroups {
		if _, known := t.state.nodes[v.Owner]; v.Owner != "" && !known {
			return notFound("node", v.Owner) // the foreign key
		}
		t.state.vgroups[v.VGroup] = v
	}
	t.wrote = true
	return nil
}
