package sink

import (
	"context"
	"errors"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/services/worker/internal/notify"
)

// KindWebhook is the kind of webhooks (see KindPostgres).
const KindWebhook = "webhook"

// EventTaker is an Output that hears of windows that open and close.
type EventTaker interface {
	// Events hands events over (columns as pipeline.EventSchema), as Write hands over rows.
	Events(ctx context.Context, events *block.Batch) error
}

// Events gives the events to every output that takes them.
func (c Chain) Events(ctx context.Context, events *block.Batch) error {
	for _, o := range c {
		if to, ok := o.(EventTaker); ok {
			if err := to.Events(ctx, events); err != nil {
				return err
			}
		}
	}
	return nil
}

// Hook sends events to a receiver (*notify.Hook).
type Hook interface {
	Send(ctx context.Context, ids []string, events [][]byte) error
}

// webhook is the output that tells a receiver of windows, at least once: what was handed over before a checkpoint's trigger
// has arrived before the checkpoint is reported, and the stage that goes on from an older one tells the rest again.
type webhook struct {
	*pump
	hook      Hook
	form      *notify.Form
	maxEvents int // of a request
	// sent is how many events of the batches at hand have arrived: a repeated write goes on behind them.
	sent int
}

// NewWebhook returns an output that sends events through the hook that open brings, at most maxEvents a request. open is
// repeated unless its error is a *Stop.
func NewWebhook(open func() (Hook, error), form *notify.Form, maxEvents int, env Env) Output {
	o := &webhook{form: form, maxEvents: maxEvents}
	o.pump = newPump(KindWebhook, env, func(context.Context) (err error) {
		o.hook, err = open()
		return err
	}, o.send, func(err error) bool {
		var stop *Stop
		return errors.As(err, &stop)
	})
	o.start()
	return o
}

// Write implements Output: results are not told, their windows are.
func (o *webhook) Write(context.Context, *block.Batch) error { return o.Stopped() }

// Events implements EventTaker.
func (o *webhook) Events(ctx context.Context, events *block.Batch) error {
	return o.pump.Write(ctx, events)
}

// place is where an event lies.
type place struct {
	rows *block.Batch
	row  int
}

// send sends what the batches hold and has not arrived.
func (o *webhook) send(ctx context.Context, batches []*block.Batch) error {
	var events []place
	for _, b := range batches {
		for i := range b.Rows() {
			events = append(events, place{b, i})
		}
	}
	for o.sent < len(events) {
		if err := o.post(ctx, events[o.sent:min(o.sent+o.maxEvents, len(events))]); err != nil {
			return err
		}
	}
	o.sent = 0
	for _, b := range batches {
		o.env.Memory.Give(int64(b.MemBytes()))
	}
	return nil
}

// post sends events in one request. Of those that the receiver refuses together the ones it takes are found by halves; one
// that it refuses alone is a dead letter.
func (o *webhook) post(ctx context.Context, events []place) error {
	ids, texts := make([]string, len(events)), make([][]byte, len(events))
	for i, e := range events {
		ids[i], texts[i] = o.form.ID(e.rows, e.row), o.form.Append(nil, e.rows, e.row)
	}
	err := o.hook.Send(ctx, ids, texts)
	var refused *notify.Refused
	switch n := len(events); {
	case err == nil:
		o.sent += n
		return nil
	case !errors.As(err, &refused):
		return err
	case n > 1:
		if err := o.post(ctx, events[:n/2]); err != nil {
			return err
		}
		return o.post(ctx, events[n/2:])
	}
	if err := o.env.Reject(Rejected{Rows: events[0].rows, Row: events[0].row, Reason: err.Error()}); err != nil {
		return err
	}
	o.sent++
	return nil
}
