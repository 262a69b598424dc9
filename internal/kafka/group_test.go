package kafka_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// groupOffsets reads what a tool sees of a group.
func (b *bed) groupOffsets(group, topic string) kafka.Offsets {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.cluster.ListenAddrs()...))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	all, err := kadm.NewClient(client).FetchOffsets(kadm.RequireStable(b.ctx), group)
	if err != nil {
		b.t.Fatal(err)
	}
	out := kafka.Offsets{}
	for n, o := range all[topic] {
		out[ident.Partition(n)] = ident.NextOffset(o.At)
	}
	return out
}

func (b *bed) holder(id string) *kafka.GroupOffsets {
	b.t.Helper()
	g, err := b.client.NewGroupOffsets(b.ctx, id, "c.s.offsets", "in")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(g.Close)
	return g
}

func TestPublishedOffsetsOnlyRise(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("in", 3)
	g, other := b.holder("c.s.offsets.0"), b.holder("c.s.offsets.1")
	if err := errors.Join(g.Raise(b.ctx, kafka.Offsets{0: 10, 1: 20}), other.Raise(b.ctx, kafka.Offsets{2: 5}), g.Raise(b.ctx, kafka.Offsets{0: 9, 1: 21})); err != nil {
		t.Fatal(err)
	}
	if got := b.groupOffsets("c.s.offsets", "in"); !maps.Equal(got, kafka.Offsets{0: 10, 1: 21, 2: 5}) {
		t.Errorf("published: %v", got)
	}
	// A stage that goes on from an older checkpoint.
	if err := b.holder("c.s.offsets.0").Raise(b.ctx, kafka.Offsets{0: 4, 1: 30}); err != nil {
		t.Fatal(err)
	}
	if got := b.groupOffsets("c.s.offsets", "in"); !maps.Equal(got, kafka.Offsets{0: 10, 1: 30, 2: 5}) {
		t.Errorf("after another beginning: %v", got)
	}
}

// TestAGroupThatIsDeletedBeginsAnew: a stream that is made again under its name publishes lower positions.
func TestAGroupThatIsDeletedBeginsAnew(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("in", 3)
	if err := b.holder("c.s.offsets.0").Raise(b.ctx, kafka.Offsets{0: 10}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be repeated
		if err := b.client.DeleteGroup(b.ctx, "c.s.offsets"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.holder("c.s.offsets.0").Raise(b.ctx, kafka.Offsets{0: 4}); err != nil {
		t.Fatal(err)
	}
	if got := b.groupOffsets("c.s.offsets", "in"); !maps.Equal(got, kafka.Offsets{0: 4}) {
		t.Errorf("published: %v", got)
	}
}

// TestT29_AZombiePublishesNoOffsets: what it would publish is above what it has read, and below what its heir has published.
func TestT29_AZombiePublishesNoOffsets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("in", 3)
	zombie := b.holder("c.s.offsets.0")
	if err := zombie.Raise(b.ctx, kafka.Offsets{0: 10}); err != nil {
		t.Fatal(err)
	}
	if err := b.holder("c.s.offsets.0").Raise(b.ctx, kafka.Offsets{0: 50}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := zombie.Raise(b.ctx, kafka.Offsets{0: 20}); kafka.CodeOf(err) != kafka.CodeFenced {
			t.Errorf("the zombie: %v", err)
		}
	}
	if got := b.groupOffsets("c.s.offsets", "in"); !maps.Equal(got, kafka.Offsets{0: 50}) {
		t.Errorf("published: %v", got)
	}
}

// TestATransactionThatIsStillEndingIsWaitedFor: a broker answers an end before it has written it everywhere.
func TestATransactionThatIsStillEndingIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("in", 3)
	g := b.holder("c.s.offsets.0")
	b.cluster.ControlKey(int16(kmsg.AddOffsetsToTxn), func(r kmsg.Request) (kmsg.Response, error, bool) { // once
		answer := r.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
		answer.ErrorCode = kerr.ConcurrentTransactions.Code
		return answer, nil, true
	})
	if err := g.Raise(b.ctx, kafka.Offsets{0: 10}); err != nil {
		t.Fatal(err)
	}
}
