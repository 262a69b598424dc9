package control

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// operation is a request that may carry an idempotency key.
type operation struct {
	Request
	name    string // of the operation
	content []byte // what else tells two requests apart
}

// once runs an operation whose effect and answer are one transaction (I13, trap T63): with an idempotency key it has its
// effect once, and every repetition gets the first answer, whichever replica it reaches. do may be run more than once.
func once[T any](ctx context.Context, s *Service, op operation, do func(context.Context, store.Tx) (T, error)) (T, error) {
	if op.IdempotencyKey == "" {
		var out T
		err := s.Store.Update(ctx, store.AnyTerm, func(tx store.Tx) (err error) {
			out, err = do(ctx, tx)
			return err
		})
		s.changed()
		return out, s.failure(err, CodeBusy)
	}
	if out, found, err := recall[T](ctx, s, op); found || err != nil {
		return out, err
	}
	var out T
	err := s.Store.Update(ctx, store.AnyTerm, func(tx store.Tx) (err error) {
		if out, err = do(ctx, tx); err != nil {
			return err
		}
		body, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("remember the answer to %s: %w", op.name, err)
		}
		return tx.InsertAnswer(ctx, op.key(), store.Answer{Request: op.digest(), Body: body})
	})
	s.changed()
	if err == nil {
		return out, nil
	}
	// The same request may have won the race, or this one may have been committed without our hearing of it.
	if out, found, recallErr := recall[T](ctx, s, op); found || isReused(recallErr) {
		return out, recallErr
	}
	return out, s.failure(err, CodeRequestInProgress)
}

// recall looks for a remembered answer.
func recall[T any](ctx context.Context, s *Service, op operation) (out T, found bool, err error) {
	var a store.Answer
	err = s.Store.View(ctx, func(r store.Reader) (err error) {
		a, err = r.Answer(ctx, op.key())
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return out, false, nil
	case err != nil:
		return out, false, s.failure(err, CodeBusy)
	case a.Request != op.digest():
		return out, false, errorf(CodeIdempotencyReused, "the idempotency key %q was used for another request", op.IdempotencyKey).
			hinted("use a new key for a new request")
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		return out, false, fmt.Errorf("read the remembered answer to %s: %w", op.name, err)
	}
	return out, true, nil
}

func isReused(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeIdempotencyReused
}

func (op operation) key() store.AnswerKey {
	return store.AnswerKey{Scope: op.Principal, Key: op.IdempotencyKey}
}

func (op operation) digest() [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00", op.name, op.IfMatch)
	h.Write(op.content)
	return [32]byte(h.Sum(nil))
}

// failure makes what users see of an error of the metastore; other errors pass. busy is the code for a row that somebody
// else holds.
func (s *Service) failure(err error, busy string) error {
	var e *Error
	var conflict *store.ConflictError
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.As(err, &conflict):
		return conflictError(conflict)
	case errors.Is(err, store.ErrBusy):
		return (&Error{Code: busy, Message: "somebody else is changing the same thing", Err: err}).
			retryable().hinted("repeat the request")
	case errors.Is(err, store.ErrStaleTerm):
		return (&Error{Code: CodeNotLeader, Message: "this coordinator does not lead any more", Err: err}).retryable()
	case errors.Is(err, store.ErrUnclear):
		return (&Error{Code: CodeOutcomeUnknown, Message: "the metastore did not say whether the change was made", Err: err}).
			retryable().hinted("look, or repeat the request with the same Idempotency-Key")
	case errors.Is(err, store.ErrDown):
		return (&Error{Code: CodeMetastoreDown, Message: "the metastore cannot be reached", Err: err}).
			retryable().hinted("check that Postgres is up; running streams go on meanwhile")
	}
	return err
}

func conflictError(c *store.ConflictError) *Error {
	switch c.Kind {
	case "source":
		return errorf(CodeSourceExists, "a source named %q exists", c.Name).hinted("replace it with PUT, or choose another name")
	case "stream":
		return errorf(CodeStreamExists, "a stream named %q exists", c.Name).hinted("drop it first, or choose another name")
	case "target":
		return errorf(CodeTargetInUse, "%s is written by another stream", c.Name).hinted("two streams cannot share a table or topic; choose another")
	case "savepoint":
		return errorf(CodeSavepointExists, "a savepoint named %q exists", c.Name).hinted("delete it first, or choose another name")
	case "token":
		return errorf(CodeTokenExists, "a token named %q exists", c.Name)
	}
	return errorf(CodeBusy, "%s", c.Error())
}
