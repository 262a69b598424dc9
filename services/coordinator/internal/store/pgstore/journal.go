package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
	"github.com/pondage/pondage/services/coordinator/internal/store/pgstore/query"
)

func (t *tx) Events(ctx context.Context, f store.EventFilter) ([]store.Event, error) {
	rows, err := t.q.Events(ctx, query.EventsParams{Stream: f.Stream, Before: f.Before, Count: int32(f.Limit)})
	return mapped(rows, func(r query.Event) store.Event {
		return store.Event{ID: r.ID, At: r.At, Severity: store.Severity(r.Severity), Code: r.Code, Stream: r.Stream,
			Node: ident.NodeID(r.Node), Message: r.Message}
	}), translate("list events", err)
}

// InsertEvent wakes nobody: an event changes nothing that is watched.
func (t *tx) InsertEvent(ctx context.Context, e store.Event) error {
	return translate("insert event "+e.Code, t.q.InsertEvent(ctx, query.InsertEventParams{
		Severity: string(e.Severity), Code: e.Code, Stream: e.Stream, Node: string(e.Node), Message: e.Message,
	}))
}

func (t *tx) TrimEvents(ctx context.Context, keep int) error {
	return translate("trim events", t.q.TrimEvents(ctx, int32(keep)))
}

func (t *tx) Answer(ctx context.Context, key store.AnswerKey) (store.Answer, error) {
	r, err := t.q.Answer(ctx, query.AnswerParams{Scope: key.Scope, Key: key.Key})
	if err != nil {
		return store.Answer{}, translate("read answer", err)
	}
	return store.Answer{Request: [32]byte(r.Request), Body: r.Answer}, nil
}

func (t *tx) InsertAnswer(ctx context.Context, key store.AnswerKey, a store.Answer) error {
	n, err := t.q.InsertAnswer(ctx, query.InsertAnswerParams{Scope: key.Scope, Key: key.Key, Request: a.Request[:], Answer: a.Body})
	if err == nil && n == 0 {
		return fmt.Errorf("remember answer: %w", store.ErrExists)
	}
	return translate("remember answer", err)
}

func (t *tx) TrimAnswers(ctx context.Context, olderThan time.Duration) error {
	return translate("trim answers", t.q.TrimAnswers(ctx, olderThan.Seconds()))
}

func tokenOf(r query.APIToken) store.Token {
	return store.Token{Name: r.Name, Hash: [32]byte(r.Hash), Role: r.Role, Created: r.Created}
}

func (t *tx) Token(ctx context.Context, hash [32]byte) (store.Token, error) {
	r, err := t.q.TokenByHash(ctx, hash[:])
	if err != nil {
		return store.Token{}, translate("read token", err)
	}
	return tokenOf(r), nil
}

func (t *tx) Tokens(ctx context.Context) ([]store.Token, error) {
	rows, err := t.q.Tokens(ctx)
	return mapped(rows, tokenOf), translate("list tokens", err)
}

func (t *tx) InsertToken(ctx context.Context, k store.Token) error {
	return conflict("insert token "+k.Name, t.q.InsertToken(ctx, query.InsertTokenParams{Name: k.Name, Hash: k.Hash[:], Role: k.Role}), "token", k.Name)
}

func (t *tx) DeleteToken(ctx context.Context, name string) error {
	n, err := t.q.DeleteToken(ctx, name)
	return affected("delete token "+name, n, err)
}
