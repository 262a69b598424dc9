package httpapi

import (
	"context"
	"strconv"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// The outcomes of a part.
const (
	outcomeDone   = "done"
	outcomeFailed = "failed"
)

// PostCheckpointReports hears how parts of checkpoints ended.
func (h *handler) PostCheckpointReports(ctx context.Context, r api.PostCheckpointReportsRequestObject) (api.PostCheckpointReportsResponseObject, error) {
	reports, err := readReports(r.Body)
	if err != nil {
		return nil, err
	}
	term, err := h.App.ReportCheckpoints(ctx, reports)
	if err != nil {
		return nil, err
	}
	return api.PostCheckpointReports200JSONResponse{Term: common.Int64(term)}, nil
}

func readReports(b *common.CheckpointReports) (control.PartReports, error) {
	in := reader{}
	out := control.PartReports{Cluster: b.ClusterID, Node: ident.NodeID(b.Node), Instance: in.instance("/instance", b.Instance)}
	for i, p := range b.Reports {
		out.Reports = append(out.Reports, in.part("/reports/"+strconv.Itoa(i), p))
	}
	return out, in.Err()
}

func (r *reader) part(pointer string, p common.CheckpointReport) control.PartReport {
	out := control.PartReport{
		Attempt: control.Attempt{
			Stream: ident.StreamID(p.StreamID), Stage: ident.Stage(p.Stage), Checkpoint: ident.CheckpointID(p.Checkpoint), Tx: ident.TxID(p.Tx),
		},
		Task: r.task(pointer+"/task", p.Task),
	}
	switch {
	case p.Outcome == outcomeFailed && p.Cause != nil:
		cause := readCause(*p.Cause)
		out.Failure = &cause
	case p.Outcome == outcomeDone && p.Manifest != nil:
		hash, err := manifest.ParseHash(*p.Manifest)
		r.check(pointer+"/manifest", err)
		out.Manifest, out.Cost = hash, r.cost(pointer, p)
		out.Sinks = convert(p.Sinks, func(s common.SinkMarker) control.SinkMarker {
			return control.SinkMarker{Kind: s.Kind, Marker: ident.CheckpointID(s.Marker)}
		})
	default:
		r.Addf(string(problem.CodeInvalidValue), pointer+"/outcome", "%q: want done with a manifest, or failed with a cause", p.Outcome)
	}
	return out
}

func (r *reader) cost(pointer string, p common.CheckpointReport) control.Cost {
	for member, n := range map[string]common.Int64{
		"bytes_full": p.BytesFull, "bytes_incremental": p.BytesIncremental, "align_ms": p.AlignMs, "sync_ms": p.SyncMs, "async_ms": p.AsyncMs,
	} {
		if n < 0 {
			r.Addf(string(problem.CodeInvalidValue), pointer+"/"+member, "%d is below 0", n)
		}
	}
	ms := func(n common.Int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return control.Cost{
		BytesFull: int64(p.BytesFull), BytesIncremental: int64(p.BytesIncremental), Align: ms(p.AlignMs), Sync: ms(p.SyncMs), Async: ms(p.AsyncMs),
	}
}
