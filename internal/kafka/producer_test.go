package kafka_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pondage/pondage/internal/kafka"
)

// log gathers results; its done is a Message.Done.
type log struct {
	mu      sync.Mutex
	results []kafka.Result
}

func (l *log) done(r kafka.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r)
}

func (l *log) all() []kafka.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.results)
}

func (b *bed) queue(topic string, o kafka.QueueOptions) *kafka.Queue {
	b.t.Helper()
	p := kafka.NewProducer(b.client)
	b.t.Cleanup(p.Close)
	q, err := p.Open(b.ctx, topic, 0, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return q
}

// push appends messages with these numbers as values and tags.
func (b *bed) push(q *kafka.Queue, l *log, from, n int) {
	b.t.Helper()
	for i, v := range numbered(from, n) {
		if err := q.Push(kafka.Message{Value: []byte(v), Tag: uint64(from + i), Done: l.done}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bed) flush(q *kafka.Queue) {
	b.t.Helper()
	if err := q.Flush(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// log reads everything that a partition has.
func (b *bed) log(topic string) []string {
	b.t.Helper()
	ends, err := b.client.Ends(b.ctx, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	x := b.subscribe(b.fetcher(kafka.FetcherConfig{}), kafka.SubscribeSpec{Topic: topic}, 100)
	defer x.sub.Close()
	return x.values(int(ends[0]))
}

func TestResultsComeInOrderWithTheOffsets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	q := b.queue("t", kafka.QueueOptions{MaxBatchBytes: 300})
	var l log
	const n = 1000
	b.push(q, &l, 0, n)
	b.flush(q)
	results := l.all()
	if len(results) != n {
		t.Fatalf("%d results for %d messages", len(results), n)
	}
	for i, r := range results {
		if r.Err != nil || r.Tag != uint64(i) || int(r.Offset) != i {
			t.Fatalf("result %d is %+v", i, r)
		}
	}
	if got := b.log("t"); !slices.Equal(got, numbered(0, n)) {
		t.Fatal("the log is not what was pushed")
	}
}

// The broker refuses the first request (its leader moved) while later messages wait behind it.
func TestT25_NothingOvertakesARefusedRequest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	refusals := b.refuse(3, kerr.NotLeaderForPartition)
	q := b.queue("t", kafka.QueueOptions{Mode: kafka.RetryByCaller})
	var l log
	b.push(q, &l, 4, 1)
	b.eventually("the first attempt fails", func() bool { return len(l.all()) == 1 })
	b.push(q, &l, 5, 4)
	if r := l.all(); len(r) != 1 || r[0].Tag != 4 || !kafka.Transient(r[0].Err) {
		t.Fatalf("results %v: want one transient failure of message 4", r)
	}
	if messages, _ := q.Pending(); messages != 5 {
		t.Fatalf("%d messages wait, want 5", messages)
	}
	for range 2 { // the second and third attempts are refused too
		before := len(l.all())
		b.eventually("another attempt fails", func() bool { q.Retry(); return len(l.all()) > before })
	}
	b.eventually("an attempt is taken", func() bool { q.Retry(); m, _ := q.Pending(); return m == 0 })
	if n := refusals(); n != 3 {
		t.Fatalf("%d refusals were asked for, %d were heard", 3, n)
	}
	if got := b.log("t"); !slices.Equal(got, numbered(4, 5)) {
		t.Fatalf("the log reads %v, want 4 to 8", got)
	}
	var delivered []uint64
	for _, r := range l.all() {
		if r.Err == nil {
			delivered = append(delivered, r.Tag)
		}
	}
	if !slices.Equal(delivered, []uint64{4, 5, 6, 7, 8}) {
		t.Fatalf("delivered in the order %v", delivered)
	}
}

// refuse makes the broker answer the next n produce requests with an error. It returns how many it has so answered.
func (b *bed) refuse(n int, cause *kerr.Error) (refused func() int) {
	var mu sync.Mutex
	count := 0
	b.cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		mu.Lock()
		defer mu.Unlock()
		b.cluster.KeepControl()
		if count == n {
			return nil, nil, false
		}
		count++
		req := r.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range req.Topics {
			st := kmsg.NewProduceResponseTopic()
			st.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				sp := kmsg.NewProduceResponseTopicPartition()
				sp.Partition, sp.ErrorCode = rp.Partition, cause.Code
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp, nil, true
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// An answer that is lost leaves it open whether the broker has the request: it is sent again, byte for byte.
func TestUnansweredRequestIsRepeatedUnchanged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	var mu sync.Mutex
	var seen [][]byte
	b.cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		mu.Lock()
		defer mu.Unlock()
		b.cluster.KeepControl()
		seen = append(seen, slices.Clone(r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records))
		if len(seen) < 3 {
			return nil, errors.New("the connection is cut"), true
		}
		return nil, nil, false
	})
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 3)
	b.flush(q)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) < 3 || !slices.Equal(seen[0], seen[1]) || !slices.Equal(seen[1], seen[2]) {
		t.Fatalf("%d attempts, not all of the same bytes", len(seen))
	}
	if r := l.all(); len(r) != 3 || r[0].Err != nil {
		t.Fatalf("results %v: RetryItself tells each message once", r)
	}
}

func TestNamedStopEndsTheQueue(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.refuse(1, kerr.TopicAuthorizationFailed)
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 2)
	if err := q.Flush(b.ctx); kafka.CodeOf(err) != kafka.CodeNotAuthorized {
		t.Fatalf("got %v, want %s", err, kafka.CodeNotAuthorized)
	}
	b.eventually("every message hears of the stop", func() bool { return len(l.all()) == 2 })
	for _, r := range l.all() {
		if kafka.CodeOf(r.Err) != kafka.CodeNotAuthorized {
			t.Errorf("result %+v, want %s", r, kafka.CodeNotAuthorized)
		}
	}
	if err := q.Push(kafka.Message{}); kafka.CodeOf(err) != kafka.CodeNotAuthorized {
		t.Fatalf("a push after the stop: %v", err)
	}
}

// A broker that cannot write, its disk being full, says only that it has met an error: it may have room later.
func TestABrokerThatCannotWriteIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	refusals := b.refuse(2, kerr.UnknownServerError)
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 3)
	b.flush(q)
	if got := b.log("t"); refusals() != 2 || !slices.Equal(got, numbered(0, 3)) {
		t.Fatalf("after %d refusals the log reads %v, want 0 to 2", refusals(), got)
	}
}

func TestTooLargeRecordIsRefusedAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if _, err := b.client.CreateTopic(b.ctx, kafka.TopicSpec{
		Name: "t", Partitions: 1, Settings: map[string]string{kafka.SettingMaxMessageBytes: "10000"},
	}); err != nil {
		t.Fatal(err)
	}
	q := b.queue("t", kafka.QueueOptions{})
	large := make([]byte, 10_000)
	if err := q.Push(kafka.Message{Value: large}); kafka.CodeOf(err) != kafka.CodeRecordTooLarge {
		t.Fatalf("got %v, want %s", err, kafka.CodeRecordTooLarge)
	}
	for range 10 { // above half of the limit: a request each
		if err := q.Push(kafka.Message{Value: large[:9000]}); err != nil {
			t.Fatal(err)
		}
	}
	b.flush(q)
}

func TestFullQueueMakesSendWait(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.refuse(1, kerr.NotEnoughReplicas)
	q := b.queue("t", kafka.QueueOptions{Mode: kafka.RetryByCaller, MaxPendingBytes: 1000})
	var l log
	value := make([]byte, 600)
	for range 2 {
		if err := q.Send(b.ctx, kafka.Message{Value: value, Done: l.done}); err != nil {
			t.Fatal(err)
		}
	}
	if !q.Full() {
		t.Fatal("1200 of 1000 bytes are pending and the queue is not full")
	}
	b.eventually("the request is refused", func() bool { return len(l.all()) > 0 })
	brief, cancel := context.WithTimeout(b.ctx, 10*time.Millisecond)
	defer cancel()
	if err := q.Send(brief, kafka.Message{Value: value}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("sending to a full queue: %v, want it to wait", err)
	}
	q.Retry()
	if err := q.Send(b.ctx, kafka.Message{Value: value}); err != nil {
		t.Fatal(err)
	}
	b.flush(q)
}

func TestDiscardEndsWhatIsNotAnswered(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.refuse(1, kerr.NotEnoughReplicas)
	q := b.queue("t", kafka.QueueOptions{Mode: kafka.RetryByCaller})
	var l log
	b.push(q, &l, 0, 1)
	b.eventually("the request is refused", func() bool { return len(l.all()) == 1 })
	b.push(q, &l, 1, 2)
	q.Discard()
	for _, r := range l.all()[1:] {
		if kafka.CodeOf(r.Err) != kafka.CodeDiscarded {
			t.Errorf("result %+v, want %s", r, kafka.CodeDiscarded)
		}
	}
	b.push(q, &l, 10, 2)
	b.flush(q)
	if got := b.log("t"); !slices.Equal(got, numbered(10, 2)) {
		t.Fatalf("the log reads %v, want only what came after the discard", got)
	}
}

func TestT24_ProducerNamesARecreatedTopic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	was := b.topic("t", 1)
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 1)
	b.flush(q)
	if err := b.client.DeleteTopic(b.ctx, "t"); err != nil {
		t.Fatal(err)
	}
	b.topic("t", 1)
	b.eventually("the queue stops", func() bool { return kafka.CodeOf(q.Err()) == kafka.CodeTopicRecreated })
	p := kafka.NewProducer(b.client)
	t.Cleanup(p.Close)
	if _, err := p.Open(b.ctx, "t", 0, kafka.QueueOptions{TopicID: was.ID}); kafka.CodeOf(err) != kafka.CodeTopicRecreated {
		t.Fatalf("opening with the old id: %v", err)
	}
}

func TestProducerFollowsTheLeader(t *testing.T) {
	t.Parallel()
	b := newBed(t, kfake.NumBrokers(3))
	topic := b.topic("t", 1)
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 1)
	b.flush(q)
	if err := b.cluster.MoveTopicPartition("t", 0, (topic.Partitions[0].Leader+1)%3); err != nil {
		t.Fatal(err)
	}
	b.push(q, &l, 1, 1)
	b.flush(q)
	if got := b.log("t"); !slices.Equal(got, numbered(0, 2)) {
		t.Fatalf("the log reads %v", got)
	}
}

func TestProducerGoesOnAfterTheBrokerWasGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBed(t, kfake.DataDir(dir))
	b.topic("t", 1)
	q := b.queue("t", kafka.QueueOptions{})
	var l log
	b.push(q, &l, 0, 1)
	b.flush(q)
	port := b.port()
	b.cluster.Close()
	b.push(q, &l, 1, 1)
	b.eventually("the failure shows", func() bool { return kafka.CodeOf(q.Err()) == kafka.CodeUnreachable })
	b.restart(dir, port)
	b.flush(q)
	if got := b.log("t"); !slices.Equal(got, numbered(0, 2)) {
		t.Fatalf("the log reads %v", got)
	}
}

func TestCloseTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.topic("t", 1)
	b.refuse(1, kerr.NotEnoughReplicas)
	q := b.queue("t", kafka.QueueOptions{Mode: kafka.RetryByCaller})
	var l log
	b.push(q, &l, 0, 1)
	b.eventually("the request is refused", func() bool { return len(l.all()) == 1 })
	q.Close()
	if r := l.all(); len(r) != 2 || kafka.CodeOf(r[1].Err) != kafka.CodeClosed || !strings.Contains(r[1].Err.Error(), "t/0") {
		t.Fatalf("results %v: want %s at the end", r, kafka.CodeClosed)
	}
}
