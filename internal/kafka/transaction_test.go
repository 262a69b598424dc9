package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// set writes values to the partitions of a topic, in one transaction.
func set(tx *kafka.Transactor, ctx context.Context, topic string, values ...string) error {
	return tx.Write(ctx, func(send func(kafka.TransactionRecord) error) error {
		for i, v := range values {
			key, value, _ := strings.Cut(v, "=")
			m := kafka.Message{Key: []byte(key), Value: []byte(value)}
			if value == "" {
				m.Value = nil
			}
			if err := send(kafka.TransactionRecord{Topic: topic, Partition: ident.Partition(i % 2), Message: m}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bed) transactor(id string) *kafka.Transactor {
	b.t.Helper()
	tx, err := b.client.NewTransactor(b.ctx, id)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(tx.Close)
	return tx
}

// committed reads what a reader of committed records sees of a partition.
func (b *bed) committed(topic string, p ident.Partition) []string {
	b.t.Helper()
	ends, err := b.client.Stables(b.ctx, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	in := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: topic, Partition: p, Isolation: kafka.ReadCommitted}, 16)
	var out []string
	for in.next < ends[p] {
		c := in.take()
		err := c.Records(func(r *kafka.Record) bool {
			out = append(out, fmt.Sprintf("%s=%s", r.Key, r.Value))
			return true
		})
		c.Release()
		if err := errors.Join(err, c.Err); err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

func TestASetIsSeenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("out", 2)
	tx := b.transactor("c.s.sink.0")
	if err := set(tx, b.ctx, "out", "a=1", "b=2", "c=3"); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no more")
	err := tx.Write(b.ctx, func(send func(kafka.TransactionRecord) error) error {
		return errors.Join(send(kafka.TransactionRecord{Topic: "out", Message: kafka.Message{Key: []byte("x")}}), no)
	})
	if !errors.Is(err, no) {
		t.Errorf("the error of who writes: %v", err)
	}
	if err := set(tx, b.ctx, "out", "d=4"); err != nil { // goes on after an abort
		t.Fatal(err)
	}
	if got := b.committed("out", 0); !slices.Equal(got, []string{"a=1", "c=3", "d=4"}) {
		t.Errorf("partition 0: %v", got)
	}
	if got := b.committed("out", 1); !slices.Equal(got, []string{"b=2"}) {
		t.Errorf("partition 1: %v", got)
	}
}

// TestT29_ADeadTaskLeavesNoOpenDoor: who takes the id over ends what the one before has open, and fences it.
func TestT29_ADeadTaskLeavesNoOpenDoor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("out", 2)
	old := b.transactor("c.s.sink.0")
	began, over := make(chan struct{}), make(chan error)
	resume := make(chan struct{})
	go func() {
		over <- old.Write(b.ctx, func(send func(kafka.TransactionRecord) error) error {
			if err := send(kafka.TransactionRecord{Topic: "out", Message: kafka.Message{Key: []byte("zombie"), Value: []byte("1")}}); err != nil {
				return err
			}
			close(began)
			<-resume // frozen
			return nil
		})
	}()
	<-began
	heir := b.transactor("c.s.sink.0")
	if err := set(heir, b.ctx, "out", "a=1"); err != nil {
		t.Fatal(err)
	}
	close(resume)
	if err := <-over; kafka.CodeOf(err) != kafka.CodeFenced {
		t.Errorf("the old holder: %v", err)
	}
	if err := set(old, b.ctx, "out", "b=1"); kafka.CodeOf(err) != kafka.CodeFenced {
		t.Errorf("the old holder, again: %v", err)
	}
	if got := b.committed("out", 0); !slices.Equal(got, []string{"a=1"}) {
		t.Errorf("seen: %v", got)
	}
	stable, err1 := b.client.Stables(b.ctx, "out")
	ends, err2 := b.client.Ends(b.ctx, "out")
	if err := errors.Join(err1, err2); err != nil || stable[0] != ends[0] {
		t.Errorf("stable %d, end %d, %v: a transaction is open", stable[0], ends[0], err)
	}
}

// TestT31_NobodyKnowsHowItEnded: the broker's answer to the end is an error, once after it has committed and once
// without; the marker in the set tells which.
func TestT31_NobodyKnowsHowItEnded(t *testing.T) {
	t.Parallel()
	for what, commits := range map[string]bool{"after committing": true, "without": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.topic("out", 2)
			tx := b.transactor("c.s.sink.0")
			if err := set(tx, b.ctx, "out", "marker=6"); err != nil {
				t.Fatal(err)
			}
			spoiled := false
			b.cluster.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
				end := r.(*kmsg.EndTxnRequest)
				if spoiled || !end.Commit {
					return nil, nil, false
				}
				spoiled = true
				b.cluster.KeepControl()
				if commits {
					return nil, errors.New("the connection breaks"), true
				}
				answer := r.ResponseKind().(*kmsg.EndTxnResponse)
				answer.ErrorCode = kerr.UnknownServerError.Code
				return answer, nil, true
			})
			err := set(tx, b.ctx, "out", "marker=7")
			if err != nil && kafka.CodeOf(err) != kafka.CodeOutcomeUnknown {
				t.Errorf("%v", err)
			}
			tx.Close()
			heir := b.transactor("c.s.sink.0")
			marker, err := b.client.Newest(b.ctx, "out", 0, "marker")
			if err != nil {
				t.Fatal(err)
			}
			if string(marker["marker"]) != "7" {
				if err := set(heir, b.ctx, "out", "marker=7"); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.committed("out", 0); !slices.Equal(got, []string{"marker=6", "marker=7"}) {
				t.Errorf("seen: %v", got)
			}
		})
	}
}

// TestTheNewestIsReadBehindAnOpenTransaction of another id: what was committed behind its beginning is found, not missed.
func TestTheNewestIsReadBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("commits", 2)
	other, mine := b.transactor("c.s.sink.1"), b.transactor("c.s.sink.0")
	if err := set(mine, b.ctx, "commits", "mine=6", "", "gone=1"); err != nil {
		t.Fatal(err)
	}
	began, resume, over := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		over <- other.Write(b.ctx, func(send func(kafka.TransactionRecord) error) error {
			if err := send(kafka.TransactionRecord{Topic: "commits", Message: kafka.Message{Key: []byte("other"), Value: []byte("1")}}); err != nil {
				return err
			}
			close(began)
			<-resume
			return errors.New("given up")
		})
	}()
	<-began
	before, err := b.client.Stables(b.ctx, "commits")
	if err != nil {
		t.Fatal(err)
	}
	for ends := before; ends[0] == before[0]; { // until the other's record is in the log
		if ends, err = b.client.Ends(b.ctx, "commits"); err != nil {
			t.Fatal(err)
		}
	}
	if err := set(mine, b.ctx, "commits", "mine=7", "", "gone="); err != nil {
		t.Fatal(err)
	}
	found := make(chan map[string][]byte, 1)
	go func() {
		m, err := b.client.Newest(b.ctx, "commits", 0, "mine", "other", "gone", "never")
		if err != nil {
			t.Error(err)
		}
		found <- m
	}()
	const aWhile = 100 * time.Millisecond // a read that does not wait is back long before
	select {
	case m := <-found:
		t.Fatalf("read before the transaction has ended: %q", m)
	case <-time.After(aWhile):
	}
	close(resume)
	<-over
	m := <-found
	if len(m) != 1 || string(m["mine"]) != "7" {
		t.Errorf("found %q", m)
	}
}
