package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/peers"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// reporter brings the reports of this node's tasks to the coordinator. It implements checkpointing.Coordinator.
type reporter struct {
	coordinators *coordinators
	agent        *node.Agent
	place        ident.Place
}

// CheckpointReports implements checkpointing.Coordinator.
func (r reporter) CheckpointReports(ctx context.Context, reports []task.PartReport) error {
	doc := common.CheckpointReports{ClusterID: r.agent.Cluster().ID, Node: string(r.place.Node), Instance: r.place.Instance.String()}
	for _, p := range reports {
		doc.Reports = append(doc.Reports, reportDoc(p))
	}
	_, err := call(ctx, r.coordinators, func(api *coordinator.ClientWithResponses) (*common.CheckpointReportsAnswer, int, error) {
		answer, err := api.PostCheckpointReportsWithResponse(ctx, doc)
		if err != nil {
			return nil, 0, err
		}
		return answer.JSON200, answer.StatusCode(), nil
	})
	if err != nil {
		return fmt.Errorf("report %d parts of checkpoints: %w", len(reports), err)
	}
	return nil
}

const (
	outcomeDone   = "done"
	outcomeFailed = "failed"
)

func reportDoc(p task.PartReport) common.CheckpointReport {
	out := common.CheckpointReport{
		StreamID: common.Int64(p.Self.Stream), Stage: common.Int64(p.Self.Stage), Checkpoint: common.Int64(p.Checkpoint), Tx: common.Int64(p.Tx),
		Task: p.Self.Task.String(), Outcome: outcomeDone, Sinks: []common.SinkMarker{},
		BytesFull: common.Int64(p.BytesFull), BytesIncremental: common.Int64(p.BytesIncremental),
		AlignMs: common.Int64(p.Align.Milliseconds()), SyncMs: common.Int64(p.Sync.Milliseconds()), AsyncMs: common.Int64(p.Async.Milliseconds()),
	}
	if f := p.Failure; f != nil {
		out.Outcome, out.Cause = outcomeFailed, &common.NullableCause{Code: string(f.Code), Message: f.Detail}
		return out
	}
	hash := p.Manifest.String()
	out.Manifest = &hash
	for _, s := range p.Sinks {
		out.Sinks = append(out.Sinks, common.SinkMarker{Kind: s.Kind, Marker: common.Int64(s.Marker)})
	}
	return out
}

// asker brings questions for triggers to the nodes of the upstreams. It implements checkpointing.Asker.
type asker struct {
	engine *lateEngine
	peers  *peers.Peers
	place  ident.Place
}

// AskTrigger implements checkpointing.Asker.
func (a asker) AskTrigger(ctx context.Context, q task.TriggerQuestion) (align.Answer, error) {
	engine := a.engine.engine.Load()
	if engine == nil {
		return align.Answer{}, errNotRegistered
	}
	place, address, ok := engine.Upstream(q.Self.Stream, q.Self.Stage, q.Upstream)
	if !ok {
		return align.Answer{}, fmt.Errorf("where %s of stream %d, stage %d runs is not known", q.Upstream, q.Self.Stream, q.Self.Stage)
	}
	doc := common.TriggerQuestions{Questions: []common.TriggerQuestion{{
		StreamID: common.Int64(q.Self.Stream), Stage: common.Int64(q.Self.Stage), Checkpoint: common.Int64(q.Checkpoint), Tx: common.Int64(q.Tx),
		Upstream: q.Upstream.String(), Asker: q.Self.Task.String(),
	}}}
	if place != a.place {
		return a.peers.AskTrigger(ctx, address, doc)
	}
	answers, err := engine.Triggers(ctx, doc)
	if err != nil {
		return align.Answer{}, err
	}
	return peers.ReadTriggerAnswer(answers)
}

// current asks a coordinator whether a stage is still the stream's. Errors wrap pgtable.ErrFenced when it is not.
func (w *Worker) current(ctx context.Context, stream string, id ident.StreamID, stage ident.Stage) error {
	d, err := w.replicas.Stream(ctx, stream)
	var told *problem.Error
	switch {
	case errors.As(err, &told):
		return fmt.Errorf("stream %s: %w: %w", stream, pgtable.ErrFenced, err)
	case err != nil:
		return fmt.Errorf("ask whether stage %d of stream %s is the newest: %w", stage, stream, err)
	case d.ID != id || d.Stage != stage:
		return fmt.Errorf("stream %s has the id %d and is in stage %d, this task is of %d in stage %d: %w", stream, d.ID, d.Stage, id, stage, pgtable.ErrFenced)
	}
	return nil
}
