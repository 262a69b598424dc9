package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/services/worker/internal/notify"
)

var eventSchema = block.Schema{
	{Name: "k", Type: block.Int64}, {Name: "_wstart", Type: block.Timestamp}, {Name: "_wend", Type: block.Timestamp},
	{Name: "_event", Type: block.String}, {Name: "_row", Type: block.String},
}

// windows is a batch of events, one a key.
func windows(keys ...int64) *block.Batch {
	b := block.NewBatch(eventSchema, len(keys))
	for _, k := range keys {
		b.Cols[0].AppendInt(k)
		b.Cols[1].AppendInt(0)
		b.Cols[2].AppendInt(1000)
		b.Cols[3].AppendString("close")
		b.Cols[4].AppendNull()
	}
	return b
}

// mailbox is a receiver of webhooks: what arrived, "1 2|3" being two requests.
type mailbox struct {
	mu     sync.Mutex
	got    []string
	answer func(keys string) error
}

func (m *mailbox) Send(_ context.Context, ids []string, events [][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for _, e := range events {
		_, rest, _ := strings.Cut(string(e), `"k":"`)
		key, _, _ := strings.Cut(rest, `"`)
		keys = append(keys, key)
	}
	text := strings.Join(keys, " ")
	if len(ids) != len(events) {
		return fmt.Errorf("%d ids of %d events", len(ids), len(events))
	}
	if m.answer != nil {
		if err := m.answer(text); err != nil {
			return err
		}
	}
	m.got = append(m.got, text)
	return nil
}

func (m *mailbox) arrived() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.got, "|")
}

// counting is memory that counts what is out.
type counting struct {
	mu  sync.Mutex
	out int64
}

func (c *counting) TryTake(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out += n
	return true
}
func (c *counting) Changed() <-chan struct{} { return nil }
func (c *counting) Give(n int64)             { c.TryTake(-n) }

func newWebhook(open func() (Hook, error), e Env) Output {
	return NewWebhook(open, notify.NewForm("c", 1, eventSchema, 2), 3, e)
}

// tell hands events over as a task does.
func tell(t *testing.T, o Output, keys ...int64) {
	t.Helper()
	if err := (Chain{o}).Events(t.Context(), windows(keys...)); err != nil {
		t.Fatal(err)
	}
}

// TestEventsArriveBeforeFlushReturns: at least once, in order, in requests of a bounded size; a request that fails is sent
// again, those before it are not.
func TestEventsArriveBeforeFlushReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := 3
		m := &mailbox{answer: func(keys string) error {
			if keys == "4 5" && fails > 0 {
				fails--
				return errors.New("the webhook answers 503")
			}
			return nil
		}}
		memory := &counting{}
		o := newWebhook(func() (Hook, error) { return m, nil }, env(memory))
		defer o.Close()
		tell(t, o, 1, 2, 3, 4, 5)
		if err := o.Write(t.Context(), batch(1)); err != nil { // a result is no event
			t.Fatal(err)
		}
		synctest.Wait()
		if s := o.Status(); s.Kind != KindWebhook || s.Problem != "the webhook answers 503" {
			t.Errorf("status %+v", s)
		}
		began := time.Now()
		if err := o.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.arrived() != "1 2 3|4 5" || fails != 0 || time.Since(began) == 0 {
			t.Errorf("arrived: %s", m.arrived())
		}
		tell(t, o, 6)
		if err := o.Flush(t.Context()); err != nil || m.arrived() != "1 2 3|4 5|6" {
			t.Errorf("arrived: %s, %v", m.arrived(), err)
		}
		if memory.out != 0 {
			t.Errorf("%d bytes of memory are out", memory.out)
		}
	})
}

// TestARefusedEventIsADeadLetter: and its neighbours in the request are not.
func TestARefusedEventIsADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &mailbox{answer: func(keys string) error {
			if strings.Contains(keys, "2") {
				return fmt.Errorf("as it is: %w", &notify.Refused{Status: 422})
			}
			return nil
		}}
		e := env(unlimited{})
		var rejected []string
		e.Reject = func(r Rejected) error {
			rejected = append(rejected, fmt.Sprint(r.Rows.Cols[0].Int[r.Row], " ", r.Reason))
			return nil
		}
		o := newWebhook(func() (Hook, error) { return m, nil }, e)
		defer o.Close()
		tell(t, o, 1, 2, 3, 4)
		if err := o.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.arrived() != "1|3|4" || len(rejected) != 1 || !strings.HasPrefix(rejected[0], "2 as it is") {
			t.Errorf("arrived: %s, rejected: %q", m.arrived(), rejected)
		}
	})
}

// TestAHookThatIsDownHoldsItsTask: a bounded number of events waits, and the checkpoint with them.
func TestAHookThatIsDownHoldsItsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("the webhook does not answer")
		m := &mailbox{answer: func(string) error { return down }}
		o := newWebhook(func() (Hook, error) { return m, nil }, env(unlimited{}))
		defer o.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		handed := 0
		for ; handed < 1000; handed++ {
			if err := (Chain{o}).Events(ctx, windows(int64(handed))); err != nil {
				break
			}
		}
		if handed < queueBatches || handed > 2*queueBatches {
			t.Errorf("%d batches of events were taken", handed)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if s := o.Status(); s.Problem != down.Error() || m.arrived() != "" || o.Stopped() != nil {
			t.Errorf("status %+v, arrived %s", s, m.arrived())
		}
	})
}

// TestAHookThatCannotBeStopsItsTask: by name, or it is tried again.
func TestAHookThatCannotBeStopsItsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errs := []error{errors.New("no secret yet"), &Stop{Code: "webhook_not_allowed", Err: errors.New("no")}}
		o := newWebhook(func() (Hook, error) {
			err := errs[0]
			errs = errs[1:]
			return nil, err
		}, env(unlimited{}))
		defer o.Close()
		synctest.Wait()
		if s := o.Status(); s.Problem != "no secret yet" || o.Stopped() != nil {
			t.Errorf("status %+v", s)
		}
		var stop *Stop
		if err := o.Flush(t.Context()); !errors.As(err, &stop) || stop.Code != "webhook_not_allowed" || !errors.Is(o.Stopped(), err) {
			t.Errorf("flush: %v", err)
		}
		if err := o.Write(t.Context(), batch(1)); err == nil {
			t.Error("rows are taken after the stop")
		}
	})
}
