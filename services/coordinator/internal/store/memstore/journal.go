package memstore

import (
	"context"
	"time"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func (t *tx) Events(_ context.Context, f store.EventFilter) ([]store.Event, error) {
	var out []store.Event
	for i := len(t.state.events) - 1; i >= 0 && len(out) < f.Limit; i-- {
		e := t.state.events[i]
		if (f.Stream == "" || e.Stream == f.Stream) && (f.Before == 0 || e.ID < f.Before) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (t *tx) InsertEvent(_ context.Context, e store.Event) error {
	t.state.lastID++
	e.ID, e.At = t.state.lastID, time.Now()
	t.state.events = append(t.state.events, e)
	return nil
}

func (t *tx) TrimEvents(_ context.Context, keep int) error {
	if extra := len(t.state.events) - keep; extra > 0 {
		t.state.events = t.state.events[extra:]
	}
	return nil
}

func (t *tx) Answer(_ context.Context, key store.AnswerKey) (store.Answer, error) {
	a, ok := t.state.answers[key]
	if !ok {
		return store.Answer{}, notFound("answer", key.Key)
	}
	return a.Answer, nil
}

func (t *tx) InsertAnswer(_ context.Context, key store.AnswerKey, a store.Answer) error {
	if _, taken := t.state.answers[key]; taken {
		return store.ErrExists
	}
	t.state.answers[key] = answer{Answer: a, at: time.Now()}
	return nil
}

func (t *tx) TrimAnswers(_ context.Context, olderThan time.Duration) error {
	for key, a := range t.state.answers {
		if time.Since(a.at) > olderThan {
			delete(t.state.answers, key)
		}
	}
	return nil
}

func (t *tx) Token(_ context.Context, hash [32]byte) (store.Token, error) {
	for _, k := range t.state.tokens {
		if k.Hash == hash {
			return k, nil
		}
	}
	return store.Token{}, notFound("token", "with this hash")
}

func (t *tx) Tokens(context.Context) ([]store.Token, error) {
	return page(t.state.tokens, "", len(t.state.tokens)), nil
}

func (t *tx) InsertToken(_ context.Context, k store.Token) error {
	if _, taken := t.state.tokens[k.Name]; taken {
		return &store.ConflictError{Kind: "token", Name: k.Name}
	}
	k.Created = time.Now()
	t.state.tokens[k.Name] = k
	return nil
}

func (t *tx) DeleteToken(_ context.Context, name string) error {
	if _, ok := t.state.tokens[name]; !ok {
		return notFound("token", name)
	}
	delete(t.state.tokens, name)
	return nil
}
