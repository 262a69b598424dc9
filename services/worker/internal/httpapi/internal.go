package httpapi

import (
	"context"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/worker/internal/peers"
)

// PostOrders takes what the coordinator wants.
func (h *handler) PostOrders(_ context.Context, r api.PostOrdersRequestObject) (api.PostOrdersResponseObject, error) {
	if err := h.Orders.Push(*r.Body); err != nil {
		return nil, problem.Wrap(err, problem.CodeOrdersRefused, "%v", err)
	}
	return api.PostOrders200JSONResponse(common.OrdersAnswer{Node: h.Node.Node, Instance: h.Node.Instance, Term: r.Body.Term}), nil
}

// PostCredits takes what another node has consumed.
func (h *handler) PostCredits(_ context.Context, r api.PostCreditsRequestObject) (api.PostCreditsResponseObject, error) {
	m, err := peers.ReadCredits(*r.Body)
	if err != nil {
		return nil, err
	}
	h.Edges.Take(m)
	return api.PostCredits204Response{}, nil
}

// PostHandshake answers whether receivers here are ready, as soon as there is something to say.
func (h *handler) PostHandshake(ctx context.Context, r api.PostHandshakeRequestObject) (api.PostHandshakeResponseObject, error) {
	check, err := peers.ReadCheck(*r.Body)
	if err != nil {
		return nil, err
	}
	answer, err := h.Edges.Check(ctx, check)
	if err != nil {
		return nil, err
	}
	return api.PostHandshake200JSONResponse(peers.CheckAnswerDoc(answer)), nil
}

// PostCheckpoint asks source tasks for their parts of a checkpoint.
func (h *handler) PostCheckpoint(ctx context.Context, r api.PostCheckpointRequestObject) (api.PostCheckpointResponseObject, error) {
	answer, err := h.Checkpoints.Request(ctx, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.PostCheckpoint200JSONResponse(answer), nil
}

// PostTriggerQuestions answers other nodes' questions for triggers.
func (h *handler) PostTriggerQuestions(ctx context.Context, r api.PostTriggerQuestionsRequestObject) (api.PostTriggerQuestionsResponseObject, error) {
	answers, err := h.Checkpoints.Triggers(ctx, *r.Body)
	if err != nil {
		return nil, err
	}
	return api.PostTriggerQuestions200JSONResponse(answers), nil
}
