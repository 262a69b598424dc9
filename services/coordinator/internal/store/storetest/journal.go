package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func events(t *testing.T, m Metastore) {
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		for i := range 5 {
			e := store.Event{Severity: store.Info, Code: fmt.Sprint("e", i), Stream: []string{"x", "y"}[i%2], Node: "n", Message: "m"}
			if err := tx.InsertEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	codes := func(f store.EventFilter) (out []string, last int64) {
		view(t, m, func(ctx context.Context, r store.Reader) error {
			all, err := r.Events(ctx, f)
			for _, e := range all {
				out, last = append(out, e.Code), e.ID
			}
			return err
		})
		return out, last
	}
	got, last := codes(store.EventFilter{Limit: 2})
	equal(t, got, []string{"e4", "e3"})
	got, _ = codes(store.EventFilter{Limit: 2, Before: last})
	equal(t, got, []string{"e2", "e1"})
	got, _ = codes(store.EventFilter{Limit: 9, Stream: "y"})
	equal(t, got, []string{"e3", "e1"})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimEvents(ctx, 3) })
	got, _ = codes(store.EventFilter{Limit: 9})
	equal(t, got, []string{"e4", "e3", "e2"})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimEvents(ctx, 100) })
	got, _ = codes(store.EventFilter{Limit: 9})
	equal(t, len(got), 3)
}

func answers(t *testing.T, m Metastore) {
	key := store.AnswerKey{Scope: "me", Key: "k"}
	a := store.Answer{Request: sha256.Sum256([]byte("r")), Body: json.RawMessage(`{"x":1}`)}
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertAnswer(ctx, key, a) })
	update(t, m, func(ctx context.Context, tx store.Tx) error {
		wantErr(t, tx.InsertAnswer(ctx, key, a), store.ErrExists)
		got, err := tx.Answer(ctx, key) // the refusal has not ended the transaction
		equal(t, got, a)
		_, missing := tx.Answer(ctx, store.AnswerKey{Scope: "you", Key: "k"})
		wantErr(t, missing, store.ErrNotFound)
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimAnswers(ctx, time.Hour) })
	view(t, m, func(ctx context.Context, r store.Reader) error { _, err := r.Answer(ctx, key); return err })
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.TrimAnswers(ctx, 0) })
	view(t, m, func(ctx context.Context, r store.Reader) error {
		_, err := r.Answer(ctx, key)
		wantErr(t, err, store.ErrNotFound)
		return nil
	})
}

func tokens(t *testing.T, m Metastore) {
	k := store.Token{Name: "ci", Hash: sha256.Sum256([]byte("secret")), Role: "editor", Created: label}
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertToken(ctx, k) })
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.InsertToken(ctx, k) }), store.ErrExists)
	view(t, m, func(ctx context.Context, r store.Reader) error {
		got, err := r.Token(ctx, k.Hash)
		equal(t, got, k)
		_, missing := r.Token(ctx, [32]byte{})
		wantErr(t, missing, store.ErrNotFound)
		all, _ := r.Tokens(ctx)
		equal(t, all, []store.Token{k})
		return err
	})
	update(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteToken(ctx, "ci") })
	wantErr(t, try(t, m, func(ctx context.Context, tx store.Tx) error { return tx.DeleteToken(ctx, "ci") }), store.ErrNotFound)
}
