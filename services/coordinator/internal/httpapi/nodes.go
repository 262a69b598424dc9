package httpapi

import (
	"context"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// RegisterNode takes a worker in.
func (h *handler) RegisterNode(ctx context.Context, r api.RegisterNodeRequestObject) (api.RegisterNodeResponseObject, error) {
	in := reader{}
	reg := control.Registration{
		Cluster: r.Body.ClusterID, Node: ident.NodeID(r.Body.Node), Instance: in.instance("/instance", r.Body.Instance), Address: r.Body.Address,
		Version: r.Body.Version, HighestTerm: ident.Term(r.Body.HighestTerm),
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	answer, err := h.App.RegisterNode(ctx, reg)
	if err != nil {
		return nil, err
	}
	return api.RegisterNode200JSONResponse{
		ClusterID: answer.Cluster, Cluster: string(answer.Name), Vgroups: int32(answer.VGroups), Term: common.Int64(answer.Term), Orders: convert(answer.Orders, orderDoc),
	}, nil
}

// PostHeartbeat hears a worker and answers with what it is to do.
func (h *handler) PostHeartbeat(ctx context.Context, r api.PostHeartbeatRequestObject) (api.PostHeartbeatResponseObject, error) {
	beat, err := readHeartbeat(r.Body)
	if err != nil {
		return nil, err
	}
	answer, err := h.App.Heartbeat(ctx, beat)
	if err != nil {
		return nil, err
	}
	return api.PostHeartbeat200JSONResponse{
		Message: common.Int64(answer.Message), Superseded: answer.Superseded, Unregistered: answer.Unregistered, Term: common.Int64(answer.Term),
		Orders: convert(answer.Orders, orderDoc), Orphans: convert(answer.Orphans, func(id ident.StreamID) common.Int64 { return common.Int64(id) }),
	}, nil
}

// OrdersDoc is the body of pushed orders, for the client that pushes them.
func OrdersDoc(p control.Push) common.Orders {
	return common.Orders{
		ClusterID: p.Cluster, Node: string(p.Node), Instance: p.Instance.String(), Term: common.Int64(p.Term), Orders: convert(p.Orders, orderDoc),
	}
}

func orderDoc(o control.Order) common.Order {
	return common.Order{
		StreamID: common.Int64(o.Stream), Name: o.Name, Term: common.Int64(o.Term), Generation: common.Int64(o.Generation), Stage: common.Int64(o.Stage),
		Wanted: string(o.Wanted), Source: o.Source, Spec: o.Spec, Start: startDoc(o.Start),
		Partitions: convert(o.Partitions, func(p control.SourcePartition) common.OrderPartition {
			return common.OrderPartition{Topic: p.Topic, TopicID: p.TopicID, Partition: int32(p.Partition), Start: common.Int64(p.Start), Until: offset(p.Until)}
		}),
		Tasks: convert(o.Tasks, func(t control.PlacedTask) common.PlacedTask {
			return common.PlacedTask{Task: t.Task.String(), Node: string(t.Node), Instance: t.Instance.String(), Address: t.Address}
		}),
		Restore: restoreDoc(o.Restore), Complete: common.Int64(o.Complete), Settled: common.Int64(o.Settled),
		Retained: convert(o.Retained, func(c ident.CheckpointID) common.Int64 { return common.Int64(c) }),
	}
}

func restoreDoc(r *control.Restore) *common.Restore {
	if r == nil {
		return nil
	}
	return &common.Restore{Checkpoint: common.Int64(r.Checkpoint), Tasks: convert(r.Tasks, func(t control.RestoredTask) common.RestoredTask {
		return common.RestoredTask{Task: t.Task.String(), Node: string(t.Node), Manifest: t.Manifest.String()}
	})}
}
