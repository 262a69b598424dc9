package task

import (
	"context"
	"errors"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/ident"
)

// ErrEnded says that a task has ended, or takes part in no checkpoints.
var ErrEnded = errors.New("the task takes part in no checkpoint")

// Request asks the task for its part of a checkpoint, with the time left, and returns its answer. It may be repeated. A task
// that is busy answers when it is not; the context bounds the wait. From any goroutine.
func (p *Participant) Request(ctx context.Context, stage ident.Stage, c ident.CheckpointID, tx ident.TxID, left ident.MonoMs) (Taken, error) {
	if p == nil {
		return Taken{}, ErrEnded
	}
	reply := make(chan Taken, 1)
	now := p.shell.mono()
	e := align.Requested{Stage: stage, Checkpoint: c, Tx: tx, Deadline: now + left, Now: now}
	return await(ctx, p, word{event: e, reply: reply}, reply)
}

// Trigger answers a downstream's question for this task's trigger. From any goroutine.
func (p *Participant) Trigger(ctx context.Context, from ident.Task, c ident.CheckpointID, tx ident.TxID) (align.Answer, error) {
	if p == nil {
		return align.Answer{}, ErrEnded
	}
	answer := make(chan align.Answer, 1)
	return await(ctx, p, word{question: &question{checkpoint: c, tx: tx, from: from, answer: answer}}, answer)
}

// await puts a word and waits for its answer, as long as the task and the context live.
func await[T any](ctx context.Context, p *Participant, w word, answer <-chan T) (T, error) {
	var none T
	if !p.words.put(w) {
		return none, ErrEnded
	}
	select {
	case a := <-answer:
		return a, nil
	case <-p.lifetime.Done():
		return none, ErrEnded
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Settled brings what the newest order says: the newest complete checkpoint, and the newest complete or failed one. It may
// be repeated. From any goroutine.
func (p *Participant) Settled(stage ident.Stage, complete, settled ident.CheckpointID) {
	if p != nil {
		p.words.put(word{event: align.Settled{Stage: stage, Complete: complete, Settled: settled, Now: p.shell.mono()}})
	}
}

// Underway tells whether a checkpoint is being taken, or waits for its verdict. From any goroutine.
func (p *Participant) Underway() bool {
	return p != nil && p.underway.Load() && p.lifetime.Err() == nil
}

// ReportAgain makes the task repeat the report that has no verdict yet: another coordinator leads. From any goroutine.
func (p *Participant) ReportAgain() {
	if p != nil {
		p.words.put(word{event: align.ReportAgain{Now: p.shell.mono()}})
	}
}
