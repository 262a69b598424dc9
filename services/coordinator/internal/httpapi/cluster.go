package httpapi

import (
	"context"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// ListNodes lists the nodes.
func (h *handler) ListNodes(ctx context.Context, _ api.ListNodesRequestObject) (api.ListNodesResponseObject, error) {
	nodes, err := h.App.ListNodes(ctx)
	if err != nil {
		return nil, err
	}
	return api.ListNodes200JSONResponse{Items: convert(nodes, nodeDoc)}, nil
}

func nodeDoc(n control.Node) api.Node {
	out := api.Node{
		Node: string(n.ID), Instance: n.Instance.String(), Address: n.Address, Version: n.Version, State: n.State, Tasks: int32(n.Tasks),
		Vgroups: convert(n.VGroups, func(v ident.VGroup) int32 { return int32(v) }), RegisteredAt: n.Registered,
	}
	if n.SilenceMs >= 0 {
		ms := common.Int64(n.SilenceMs)
		out.SilentMs = &ms
	}
	return out
}

// ListVGroups lists the vgroups with their ranges.
func (h *handler) ListVGroups(ctx context.Context, _ api.ListVGroupsRequestObject) (api.ListVGroupsResponseObject, error) {
	groups, err := h.App.ListVGroups(ctx)
	if err != nil {
		return nil, err
	}
	return api.ListVGroups200JSONResponse{Items: convert(groups, func(g control.VGroup) api.VGroup {
		low, high := tablehash.Range(g.VGroup, len(groups))
		return api.VGroup{Vgroup: int32(g.VGroup), HashLow: common.Int64(low), HashHigh: common.Int64(high), Owner: orNull(string(g.Owner))}
	})}, nil
}

// GetCluster describes the cluster as a whole.
func (h *handler) GetCluster(ctx context.Context, _ api.GetClusterRequestObject) (api.GetClusterResponseObject, error) {
	c, err := h.App.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	out := api.GetCluster200JSONResponse{Cluster: string(c.Name), ClusterID: c.ID, Vgroups: int32(c.VGroups), Brokers: convert(h.Brokers, func(b string) string { return b })}
	if c.Leader.Holder != "" {
		out.Leader = &api.Leader{Holder: c.Leader.Holder, Term: common.Int64(c.Leader.Term), Self: c.Leader.Self}
	}
	return out, nil
}

// ListEvents lists what happened, newest first.
func (h *handler) ListEvents(ctx context.Context, r api.ListEventsRequestObject) (api.ListEventsResponseObject, error) {
	list, err := h.App.ListEvents(ctx, value(r.Params.Stream), page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return api.ListEvents200JSONResponse{NextCursor: orNull(list.Next), Items: convert(list.Items, func(e control.Event) api.Event {
		return api.Event{
			ID: common.Int64(e.ID), Time: e.At, Severity: string(e.Severity), Code: e.Code, Message: e.Message, Stream: orNull(e.Stream), Node: orNull(string(e.Node)),
		}
	})}, nil
}
