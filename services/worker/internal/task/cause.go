package task

import (
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/state"
	"github.com/pondage/pondage/internal/storage"
	"github.com/pondage/pondage/internal/window"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// Cause is why a task has failed, in the catalogue's words.
type Cause struct{ Code, Message string }

// The codes of failures that are found in the worker; Kafka's own codes are in package kafka.
const (
	codeMismatch      = "target_mismatch" // the result table has another shape
	codeSourceCorrupt = "source_corrupt"  // a source record cannot be read: named, or it would be met again for ever
	codeTask          = "task_failed"     // everything else

	codeCheckpointMissing = "checkpoint_missing"
	codeCheckpointDamaged = "checkpoint_damaged"
	codeStateMismatch     = "state_mismatch" // the checkpoint's state is not the stream's
)

// coded is an error with a code of the catalogue.
type coded struct {
	code string
	error
}

func (c coded) Unwrap() error { return c.error }

// causeOf names an error in the catalogue's words.
func causeOf(err error) *Cause {
	var c coded
	var stop *sink.Stop
	code := string(kafka.CodeOf(err))
	switch {
	case errors.As(err, &c):
		code = c.code
	case errors.As(err, &stop):
		code = stop.Code
	case errors.Is(err, window.ErrSpillFull):
		code = codeDiskFull
	case errors.Is(err, storage.ErrMissing):
		code = codeCheckpointMissing
	case errors.Is(err, storage.ErrDamaged), errors.Is(err, state.ErrDamaged), errors.Is(err, state.ErrVersion):
		code = codeCheckpointDamaged
	case errors.Is(err, state.ErrOperator):
		code = codeStateMismatch
	case errors.Is(err, pgtable.ErrMismatch):
		code = codeMismatch
	case code == "":
		code = codeTask
	}
	return &Cause{Code: code, Message: err.Error()}
}

// unreadable names the corruption of a source: repeating reads the same bytes. Other errors of a source's log have their
// names already.
func unreadable(err error) error {
	if kafka.CodeOf(err) == kafka.CodeCorrupt {
		return coded{code: codeSourceCorrupt, error: err}
	}
	return err
}

// over is the error of a task whose stage of the stream is over: it stops, says what keeps it from going on, and waits
// for the next stage.
type over struct{ reset dispatch.NeedReset }

func (o *over) Error() string { return o.reset.String() }

// errSuperseded is the end of a task that has met a higher stage: orders are asked for, nothing has to be reset.
var errSuperseded = errors.New("a higher stage of the stream runs")

// errFinished is the end of a task whose bound is reached and whose results are durable.
var errFinished = errors.New("finished")

// resetOf tells whether an error asks for a reset of the stream instead of failing the task: the stage is over for it.
// A fenced sink is one: whoever raised the fence has a higher stage, or will be overtaken by the next one.
func resetOf(err error, stage ident.Stage) (dispatch.NeedReset, bool) {
	var o *over
	if errors.As(err, &o) {
		return o.reset, true
	}
	if errors.Is(err, pgtable.ErrFenced) || kafka.CodeOf(err) == kafka.CodeFenced {
		return dispatch.NeedReset{Stage: stage, Reason: dispatch.ReasonRefused, Detail: fmt.Sprintf("sink: %v", err)}, true
	}
	return dispatch.NeedReset{}, false
}
