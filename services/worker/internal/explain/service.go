package explain

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Streams finds streams by name (*catalog.Catalog).
type Streams interface {
	Stream(ctx context.Context, name string) (*catalog.Stream, error)
}

// Peers asks other nodes (*peers.Peers).
type Peers interface {
	Explain(ctx context.Context, address, stream string, at *time.Time, table *string) (api.WindowExplanation, error)
}

// reporting is a run whose tasks tell what they do.
type reporting interface{ TaskReports() []task.Report }

// peerTime bounds one question to another node: what cannot be asked is named, it does not hold up the rest.
const peerTime = 5 * time.Second

// Service explains. Make it with New.
type Service struct {
	node    ident.NodeID
	streams Streams
	peers   Peers
}

// New returns the service of a node.
func New(node ident.NodeID, s Streams, p Peers) *Service {
	return &Service{node: node, streams: s, peers: p}
}

// Explain answers a question. Errors: *problem.Error with stream_unknown and the like.
func (s *Service) Explain(ctx context.Context, name string, p api.ExplainWindowParams) (api.WindowExplanation, error) {
	stream, err := s.streams.Stream(ctx, name)
	if err != nil {
		return api.WindowExplanation{}, err
	}
	q := newQuestion(stream, p)
	var reports []task.Report
	if run, ok := stream.Run.(reporting); ok {
		reports = run.TaskReports()
	}
	own := q.local(reports)
	if p.PondageScope != nil {
		return own, nil
	}
	parts := append([]api.WindowExplanation{own}, s.ask(ctx, stream, p)...)
	whole := join(parts)
	whole.Stream, whole.Stage = name, common.Int64(stream.Stage)
	whole.Notes = append(q.notes(whole), whole.Notes...)
	return whole, nil
}

// ask asks the other nodes, all at once.
func (s *Service) ask(ctx context.Context, stream *catalog.Stream, p api.ExplainWindowParams) []api.WindowExplanation {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	others := map[ident.NodeID]string{}
	var order []ident.NodeID
	for _, t := range stream.Tasks {
		if _, ok := others[t.Node]; !ok && t.Node != s.node {
			others[t.Node] = t.Address
			order = append(order, t.Node)
		}
	}
	parts := make([]api.WindowExplanation, len(order))
	var calls sync.WaitGroup
	for i, node := range order {
		calls.Go(func() {
			part, err := s.peers.Explain(ctx, others[node], stream.Name, p.Time, p.Table)
			if err != nil {
				part = api.WindowExplanation{Notes: []string{fmt.Sprintf("node %s did not answer, its tasks are missing here: %v", node, err)}}
			}
			parts[i] = part
		})
	}
	calls.Wait()
	return parts
}
