package pgstore

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func (t *tx) Cluster(ctx context.Context) (store.Cluster, error) {
	r, err := t.q.Cluster(ctx)
	return store.Cluster{ID: r.ID, Name: ident.Cluster(r.Name), VGroups: int(r.Vgroups)}, translate("read cluster", err)
}

func (t *tx) InitCluster(ctx context.Context, c store.Cluster) (store.Cluster, error) {
	made, err := t.q.InsertCluster(ctx, query.InsertClusterParams{ID: c.ID, Name: string(c.Name), Vgroups: int32(c.VGroups)})
	if err != nil {
		return c, translate("write cluster", err)
	}
	if made > 0 {
		t.wrote = true
		if err := t.q.FillVGroups(ctx, int32(c.VGroups)-1); err != nil {
			return c, translate("write vgroups", err)
		}
	}
	return t.Cluster(ctx)
}

func nodeOf(r query.Node) (store.Node, error) {
	instance, err := ident.ParseInstance(r.Instance)
	if err != nil {
		return store.Node{}, fmt.Errorf("node %s: %w", r.ID, err)
	}
	return store.Node{ID: ident.NodeID(r.ID), Instance: instance, Address: r.Address, Version: r.Version,
		State: store.NodeState(r.State), Registered: r.Registered}, nil
}

func (t *tx) Nodes(ctx context.Context) ([]store.Node, error) {
	rows, err := t.q.Nodes(ctx)
	if err != nil {
		return nil, translate("list nodes", err)
	}
	out := make([]store.Node, len(rows))
	for i, r := range rows {
		if out[i], err = nodeOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *tx) LockNode(ctx context.Context, id ident.NodeID) (store.Node, error) {
	r, err := t.q.LockNode(ctx, string(id))
	if err != nil {
		return store.Node{}, translate("lock node "+string(id), err)
	}
	return nodeOf(r)
}

func (t *tx) PutNode(ctx context.Context, n store.Node) error {
	t.wrote = true
	return translate("write node "+string(n.ID), t.q.PutNode(ctx, query.PutNodeParams{
		ID: string(n.ID), Instance: n.Instance.String(), Address: n.Address, Version: n.Version, State: string(n.State),
	}))
}

func vgroupOf(r query.VGroup) store.VGroup {
	v := store.VGroup{VGroup: ident.VGroup(r.Vgroup)}
	if r.Owner != nil {
		v.Owner = ident.NodeID(*r.Owner)
	}
	return v
}

func (t *tx) VGroups(ctx context.Context) ([]store.VGroup, error) {
	rows, err := t.q.VGroups(ctx)
	return mapped(rows, vgroupOf), translate("list vgroups", err)
}

func (t *tx) LockVGroups(ctx context.Context) ([]store.VGroup, error) {
	rows, err := t.q.LockVGroups(ctx)
	return mapped(rows, vgroupOf), translate("lock vgroups", err)
}

func (t *tx) PutVGroups(ctx context.Context, vgroups []store.VGroup) error {
	t.wrote = true
	for _, v := range vgroups {
		var owner *string
		if v.Owner != "" {
			name := string(v.Owner)
			owner = &name
		}
		if err := t.q.PutVGroup(ctx, query.PutVGroupParams{Vgroup: int32(v.VGroup), Owner: owner}); err != nil {
			return translate(fmt.Sprintf("write vgroup %d", v.VGroup), err)
		}
	}
	return nil
}
