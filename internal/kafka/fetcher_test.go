package kafka_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

func TestRecordsArriveInOrderFromThePositionOn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 2)
	b.write("t", 1, numbered(0, 100)...)
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t", Partition: 1, From: 40}, 4)
	if got, want := x.values(60), numbered(40, 60); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	b.write("t", 1, "later")
	if got := x.values(1); got[0] != "later" {
		t.Fatalf("got %v, want the record written later", got)
	}
}

func TestFullInboxStopsOnlyItself(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 2)
	f := b.fetcher(kafka.FetcherConfig{})
	full := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: 0}, 1)
	open := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: 1}, 4)
	b.write("t", 0, "a")
	for range 20 {
		b.write("t", 1, "x")
		open.values(1)
		b.write("t", 0, "more")
	}
	if n := len(full.chunks); n > 1 {
		t.Fatalf("an inbox with room for one chunk holds %d", n)
	}
	if got := full.values(21); got[0] != "a" {
		t.Fatalf("got %v, want all records of the partition that was left out", got)
	}
}

func TestEmptyChunksTellTheBoundsAtABoundedRate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.write("t", 0, "a", "b", "c")
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{MaxWait: time.Millisecond, EmptyEvery: 50 * time.Millisecond}),
		kafka.SubscribeSpec{Topic: "t", From: 3, Isolation: kafka.ReadCommitted}, 100)
	begun := time.Now()
	const n = 5
	for range n {
		c := x.take()
		if c.Size() != 0 || c.HighWatermark != 3 || c.LastStable != 3 || c.LogStart != 0 || c.Filled || c.Lag() != 0 {
			t.Fatalf("got %+v, want an empty chunk with the bounds 0, 3, 3", c)
		}
	}
	if took := time.Since(begun); took < (n-1)*50*time.Millisecond {
		t.Fatalf("%d chunks without news came in %v", n, took)
	}
}

func TestFilledSaysThatMoreIsThere(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	for range 4 {
		b.write("t", 0, strings.Repeat("x", 1000)) // a batch each
	}
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t", MaxBytes: 2500}, 10)
	first, second := x.take(), x.take()
	if !first.Filled || first.Lag() != 2 || second.Filled || second.Next != 4 {
		t.Fatalf("filled %v with lag %d, then %v up to %d; want true with lag 2, then false up to 4",
			first.Filled, first.Lag(), second.Filled, second.Next)
	}
}

func TestBatchLargerThanTheLimitStillArrives(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 3)
	f := b.fetcher(kafka.FetcherConfig{RequestBytes: 1000})
	large := strings.Repeat("x", 100_000)
	var boxes []*box
	for p := range ident.Partition(3) {
		b.write("t", p, large, large)
		boxes = append(boxes, b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: p, MaxBytes: 1000}, 2))
	}
	for _, x := range boxes {
		if got := x.values(2); got[0] != large || got[1] != large {
			t.Fatal("the records of a large batch are not what was written")
		}
	}
}

// A request has room for one partition: one that is far behind must not keep the others out.
func TestPartitionThatGotNothingIsNextToBeFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 2)
	value := strings.Repeat("x", 1000)
	const behind = 200
	q := b.queue("t", kafka.QueueOptions{MaxBatchBytes: 1})
	for range behind {
		if err := q.Push(kafka.Message{Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	b.flush(q)
	b.write("t", 1, "waiting")
	f := b.fetcher(kafka.FetcherConfig{RequestBytes: 1000})
	far := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: 0, MaxBytes: 1000}, behind+1)
	near := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: 1, MaxBytes: 1000}, 4)
	near.values(1)
	if n := len(far.chunks); n > behind/2 {
		t.Fatalf("the other partition came after %d of %d chunks", n, behind)
	}
}

func TestMemoryStaysWithinTheBudget(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const partitions = 4
	b.topic("t", partitions)
	budget := kafka.NewLimit(256 << 10)
	f := b.fetcher(kafka.FetcherConfig{Budget: budget, RequestBytes: 64 << 10})
	value := strings.Repeat("x", 10_000)
	var boxes []*box
	for p := range ident.Partition(partitions) {
		for range 40 {
			b.write("t", p, value)
		}
		boxes = append(boxes, b.subscribe(f, kafka.SubscribeSpec{Topic: "t", Partition: p, MaxBytes: 32 << 10}, 1000))
	}
	// Nobody releases: the fetcher stops at the budget, one answer of overdraft, and a floor of 64 KiB a subscription.
	most := int64(256<<10 + 2*(64<<10) + partitions*(64<<10))
	b.eventually("the budget is used up", func() bool {
		taken := budget.Taken()
		if taken > most {
			t.Fatalf("%d bytes are held, at most %d may", taken, most)
		}
		return taken > 256<<10-64<<10
	})
	for _, x := range boxes {
		x.values(40)
	}
	if taken := budget.Taken(); taken != 0 {
		t.Fatalf("%d bytes are held after everything was released", taken)
	}
}

func TestOnePartitionMayBeReadTwice(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.write("t", 0, numbered(0, 10)...)
	f := b.fetcher(kafka.FetcherConfig{})
	first := b.subscribe(f, kafka.SubscribeSpec{Topic: "t"}, 4)
	second := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", From: 5}, 4)
	if got := first.values(10); got[0] != "0" {
		t.Fatalf("first subscription got %v", got)
	}
	if got := second.values(5); got[0] != "5" {
		t.Fatalf("second subscription got %v", got)
	}
}

func TestSeekGoesOnFromThere(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.write("t", 0, numbered(0, 10)...)
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t"}, 100)
	x.values(10)
	x.sub.Seek(7)
	for c := range x.chunks {
		if c.From == 7 {
			if c.Next != 10 {
				t.Fatalf("after the seek to 7 the chunk ends at %d, want 10", c.Next)
			}
			return
		}
		c.Release()
	}
}

func TestT19_ReaderGoesOnAfterTheBrokerWasGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBed(t, kfake.DataDir(dir))
	b.topic("t", 2)
	b.write("t", 0, "before")
	f := b.fetcher(kafka.FetcherConfig{StallAfter: 100 * time.Millisecond})
	x := b.subscribe(f, kafka.SubscribeSpec{Topic: "t"}, 4)
	x.values(1)

	port := b.port()
	b.cluster.Close()
	b.eventually("the stalled reader is named", func() bool {
		stalls := f.Stalls()
		return len(stalls) == 1 && stalls[0].Topic == "t" && stalls[0].Position == 1 && stalls[0].LastError != nil
	})
	b.restart(dir, port)
	b.write("t", 0, "after")
	if got := x.values(1); got[0] != "after" {
		t.Fatalf("got %v, want the record written after the broker came back", got)
	}
	b.eventually("nothing is stalled any more", func() bool { return len(f.Stalls()) == 0 })
}

// Nothing answers: each attempt closes what it opened.
func TestT20_RetriesCloseWhatTheyOpen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	var dials, open atomic.Int64
	client, err := kafka.Open(kafka.Config{
		Brokers: b.cluster.ListenAddrs(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			dials.Add(1)
			open.Add(1)
			return &countedConn{Conn: conn, open: &open}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	faulty := &bed{t: t, cluster: b.cluster, client: client, ctx: b.ctx}
	f := kafka.NewFetcher(client, kafka.FetcherConfig{})
	p := kafka.NewProducer(client)
	q, err := p.Open(b.ctx, "t", 0, kafka.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faulty.push(q, new(log), 0, 1)
	faulty.flush(q)
	x := faulty.subscribe(f, kafka.SubscribeSpec{Topic: "t"}, 100)
	x.values(1)
	b.cutEverything()
	faulty.push(q, new(log), 1, 1)
	before := dials.Load()
	const connections = 6 // a fetch loop, a sender, and what the administration keeps
	b.eventually("ten more dials", func() bool {
		if n := open.Load(); n > connections {
			t.Fatalf("%d connections are open", n)
		}
		return dials.Load() >= before+10
	})
	f.Close()
	p.Close()
	client.Close()
	b.eventually("every connection is closed", func() bool { return open.Load() == 0 })
}

func TestT24_RecreatedTopicIsNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	was := b.topic("t", 1)
	b.write("t", 0, numbered(0, 20)...)
	f := b.fetcher(kafka.FetcherConfig{RefreshEvery: 20 * time.Millisecond})
	reading := b.subscribe(f, kafka.SubscribeSpec{Topic: "t"}, 100)
	reading.values(20)
	if err := b.client.DeleteTopic(b.ctx, "t"); err != nil {
		t.Fatal(err)
	}
	is := b.topic("t", 1)
	b.write("t", 0, numbered(100, 30)...) // more than before: the old position lies within the new log
	err := reading.failure()
	if kafka.CodeOf(err) != kafka.CodeTopicRecreated || kafka.Transient(err) {
		t.Fatalf("got %v, want %s", err, kafka.CodeTopicRecreated)
	}
	for _, want := range []string{was.ID.String(), is.ID.String()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name id %s", err, want)
		}
	}
	restored := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", TopicID: was.ID, From: 20}, 100)
	if err := restored.failure(); kafka.CodeOf(err) != kafka.CodeTopicRecreated {
		t.Fatalf("a position of the old topic: got %v, want %s", err, kafka.CodeTopicRecreated)
	}
}

func TestT24_LostOffsetsAreCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.write("t", 0, numbered(0, 20)...)
	if err := b.client.DeleteRecords(b.ctx, "t", kafka.Offsets{0: 15}); err != nil {
		t.Fatal(err)
	}
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t", From: 10}, 4)
	err := x.failure()
	if kafka.CodeOf(err) != kafka.CodeOffsetsLost || !strings.Contains(err.Error(), "5 offsets are lost") {
		t.Fatalf("got %v, want %s with 5 lost", err, kafka.CodeOffsetsLost)
	}
	beyond := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t", From: 21}, 4)
	if err := beyond.failure(); kafka.CodeOf(err) != kafka.CodeOffsetsLost {
		t.Fatalf("behind the end: got %v, want %s", err, kafka.CodeOffsetsLost)
	}
}

func TestUnknownTopicIsNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "nosuch"}, 4)
	if err := x.failure(); kafka.CodeOf(err) != kafka.CodeTopicUnknown {
		t.Fatalf("got %v, want %s", err, kafka.CodeTopicUnknown)
	}
}

func TestTopicMadeAfterTheSubscriptionIsRead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "late"}, 4)
	b.topic("late", 1)
	b.write("late", 0, "a")
	x.values(1)
}

func TestLeaderChangeIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBed(t, kfake.NumBrokers(3))
	topic := b.topic("t", 1)
	b.write("t", 0, "a")
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t"}, 4)
	x.values(1)
	if err := b.cluster.MoveTopicPartition("t", 0, (topic.Partitions[0].Leader+1)%3); err != nil {
		t.Fatal(err)
	}
	b.write("t", 0, "b")
	if got := x.values(1); got[0] != "b" {
		t.Fatalf("got %v, want the record at the new leader", got)
	}
}

func TestT26_NewPartitionsAreReadFromTheirStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 2)
	b.addPartitions("t", 2)
	topic, err := b.client.Topic(b.ctx, "t")
	if err != nil || len(topic.Partitions) != 4 {
		t.Fatalf("got %d partitions, %v; want 4", len(topic.Partitions), err)
	}
	f := b.fetcher(kafka.FetcherConfig{})
	for p := ident.Partition(2); p < 4; p++ {
		b.write("t", p, numbered(0, 100)...)
		x := b.subscribe(f, kafka.SubscribeSpec{Topic: "t", TopicID: topic.ID, Partition: p}, 4)
		if got := x.values(100); got[0] != "0" {
			t.Fatalf("partition %d begins with %s", p, got[0])
		}
	}
}

func TestT27_RolledBackRowsAreNotSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: "t", Isolation: kafka.ReadCommitted}, 100)
	tx := b.transactional("id")
	b.transact(tx, "t", kgo.TryCommit, numbered(0, 10)...)
	b.transact(tx, "t", kgo.TryAbort, numbered(1000, 5)...)
	b.transact(tx, "t", kgo.TryCommit, numbered(10, 10)...)
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	b.produce(tx, "t", numbered(2000, 3)...) // left open
	if got, want := x.values(20), numbered(0, 20); !slices.Equal(got, want) {
		t.Fatalf("got %v, want the committed rows only", got)
	}
	b.eventually("the open transaction shows as pending, not as lag", func() bool {
		c := x.take()
		// 25 rows and three markers; three more rows are not stable.
		return c.Next == 28 && c.LastStable == 28 && c.HighWatermark == 31 && c.Lag() == 0 && !c.Filled
	})
}
