package httpapi

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// ListTasks lists the tasks of a stream's stage.
func (h *handler) ListTasks(ctx context.Context, r api.ListTasksRequestObject) (api.ListTasksResponseObject, error) {
	tasks, err := h.App.StreamTasks(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return api.ListTasks200JSONResponse{Items: convert(tasks, taskDoc)}, nil
}

func taskDoc(t control.TaskStatus) api.Task {
	out := api.Task{
		Task: t.Task.String(), Level: t.Task.Level.String(), Vgroup: int32(t.Task.VGroup), Node: string(t.Node), Instance: t.Instance.String(), Address: t.Address,
	}
	if r := t.Report; r != nil {
		out.State, out.Watermark, out.Idle = orNull(r.State), eventTime(&r.Watermark), r.Idle
		out.RecordsPerSecond, out.QueueBytes = r.RecordsPerSecond, common.Int64(r.QueueBytes)
		out.Error, out.Note = causeDoc(r.Cause), orNull(r.Note)
	}
	return out
}

// GetGraph shows how the tasks of a stream are connected.
func (h *handler) GetGraph(ctx context.Context, r api.GetGraphRequestObject) (api.GetGraphResponseObject, error) {
	s, err := h.App.GetStream(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	understood, err := h.Language.Stream(s.Source, s.Spec)
	if err != nil {
		return nil, fmt.Errorf("graph of stream %s: %w", s.Name, err)
	}
	g := understood.Graph(s.ID, len(s.Partitions))
	return api.GetGraph200JSONResponse{Stream: s.Name, Stage: common.Int64(s.Stage), Levels: levels(g), Edges: convert(g.Edges, edgeDoc)}, nil
}

func edgeDoc(e plan.GraphEdge) api.GraphEdge {
	return api.GraphEdge{From: e.From.String(), To: e.Into.String(), Kind: e.Kind.String(), Topic: e.Topic}
}

// levels gathers the tasks, which come by level.
func levels(g plan.Graph) []api.GraphLevel {
	out := []api.GraphLevel{}
	var last ident.Level
	for _, t := range g.Tasks {
		if len(out) == 0 || t.Task.Level != last {
			out = append(out, api.GraphLevel{Level: t.Task.Level.String(), Tasks: []string{}, Sinks: t.Sinks})
			last = t.Task.Level
		}
		level := &out[len(out)-1]
		level.Tasks = append(level.Tasks, t.Task.String())
	}
	return out
}
