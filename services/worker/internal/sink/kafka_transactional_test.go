package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/storage/dirstore"
)

func TestIntervalFilesHoldRecordsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type record struct{ Key, Value []byte }
		records := rapid.SliceOf(rapid.Custom(func(t *rapid.T) record {
			r := record{Key: rapid.SliceOf(rapid.Byte()).Draw(t, "key"), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "value")}
			if rapid.Bool().Draw(t, "deleted") {
				r.Value = nil
			}
			return r
		})).Draw(t, "records")
		var file []byte
		for _, r := range records {
			file = appendRecord(file, r.Key, r.Value)
		}
		i := 0
		err := readRecords(bytes.NewReader(file), func(key, value []byte) error {
			if !bytes.Equal(key, records[i].Key) || !bytes.Equal(value, records[i].Value) || (value == nil) != (records[i].Value == nil) {
				t.Fatalf("record %d: %q %q", i, key, value)
			}
			i++
			return nil
		})
		if err != nil || i != len(records) {
			t.Fatalf("%d of %d records: %v", i, len(records), err)
		}
		if len(file) == 0 {
			return
		}
		cut := rapid.IntRange(1, len(file)).Draw(t, "cut")
		n := 0
		err = readRecords(bytes.NewReader(file[:len(file)-cut]), func(_, _ []byte) error { n++; return nil })
		if n >= len(records) || err != nil && !errors.Is(err, errInterval) {
			t.Fatalf("of a file cut by %d bytes: %d records, %v", cut, n, err)
		}
	})
}

// shown is a task with a transactional Kafka output through its stages.
type shown struct {
	t       *testing.T
	b       *broker
	store   *dirstore.Store
	topic   string
	stage   ident.Stage
	cp      ident.CheckpointID // the last one that was begun
	out     participant
	current error // what the coordinator says of the stage
	bounds  TransactionalBounds
	settled ident.CheckpointID // that the stage begins behind
}

const commitsTopic = "test.commits"

func newShown(t *testing.T, addresses []string) *shown {
	t.Helper()
	s := &shown{t: t, b: newBroker(t, addresses), topic: testkafka.Topic(t), bounds: DefaultTransactionalBounds()}
	for _, name := range []string{s.topic, commitsTopic} {
		_, err := s.b.client.CreateTopic(t.Context(), kafka.TopicSpec{Name: name, Partitions: 2, ReplicationFactor: 1})
		if err != nil && kafka.CodeOf(err) != kafka.CodeTopicExists {
			t.Fatal(err)
		}
	}
	var err error
	if s.store, err = dirstore.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.out != nil {
			s.out.Close()
		}
	})
	return s
}

// begin begins the next stage from a part of a checkpoint; nil: from the start.
func (s *shown) begin(restored *manifest.Manifest) {
	if s.out != nil {
		s.out.Close()
	}
	s.stage++
	var from ident.CheckpointID
	if restored != nil {
		from = restored.Checkpoint
	}
	start := StartFrom(s.stage, from, restored, KindKafkaTransactional)
	start.Settled = s.settled
	s.out = NewKafkaTransactional(KafkaTransactional{
		Brokers: s.b.client, Topic: s.topic, Commits: commitsTopic, ID: "test." + s.topic + ".agg.1", Stream: 7,
		Task: ident.Task{Level: ident.LevelAgg, VGroup: 1}, Columns: columns, Keys: []int{0}, Store: s.store,
		Current: func(context.Context) error { return s.current }, Start: *start, Bounds: s.bounds,
	}, envOf(&memory{}, &rejects{})).(participant)
}

func (s *shown) write(first int, keys ...string) {
	s.t.Helper()
	if err := s.out.Write(s.t.Context(), rowsOf(first, keys...)); err != nil {
		s.t.Fatal(err)
	}
}

// part takes the task's part of the next checkpoint.
func (s *shown) part() *manifest.Manifest {
	s.t.Helper()
	s.cp++
	if err := s.out.Trigger(s.t.Context(), s.cp); err != nil {
		s.t.Fatal(err)
	}
	x, files, err := s.out.Prepare(s.t.Context(), s.cp)
	if err != nil {
		s.t.Fatal(err)
	}
	m := &manifest.Manifest{Cluster: "test", Stream: 7, Name: "s", Task: "agg-1", Stage: s.stage, Checkpoint: s.cp, Tx: 1, Plan: "p", Sinks: []manifest.Sink{x}, Files: files}
	if _, err := s.store.Commit(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
	return m
}

func (s *shown) complete(c ident.CheckpointID) {
	s.t.Helper()
	if err := s.out.Complete(s.t.Context(), c); err != nil {
		s.t.Fatalf("complete %d: %v", c, err)
	}
}

// visible are the values that a reader of committed records sees, in order.
func (s *shown) visible() string {
	s.t.Helper()
	ends, err := s.b.client.Stables(s.t.Context(), s.topic)
	if err != nil {
		s.t.Fatal(err)
	}
	chunks := make(chan *kafka.Chunk, 64)
	sub, err := s.b.fetcher.Subscribe(kafka.SubscribeSpec{
		Topic: s.topic, Partition: 1, Isolation: kafka.ReadCommitted, Inbox: kafka.InboxFunc(func(c *kafka.Chunk) bool { chunks <- c; return true }),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer sub.Close()
	var out []string
	for next := ident.NextOffset(0); next < ends[1]; {
		c := <-chunks
		err := c.Records(func(r *kafka.Record) bool {
			_, n, _ := strings.Cut(string(r.Value), `"n":"`)
			out = append(out, strings.TrimSuffix(n, `"}`))
			return true
		})
		if err = errors.Join(err, c.Err); err != nil {
			s.t.Fatal(err)
		}
		next = c.Next
		c.Release()
	}
	return strings.Join(out, " ")
}

func (s *shown) want(what, want string) {
	s.t.Helper()
	if got := s.visible(); got != want {
		s.t.Errorf("%s: readers see %q, want %q", what, got, want)
	}
}

// TestManyResultsOfAnInterval: they are several files, the checkpoint names all, and the stage after it commits them in order.
func TestManyResultsOfAnInterval(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.bounds.Segment = 1
	s.begin(nil)
	s.write(1, "a")
	s.write(2, "b")
	one := s.part()
	if n := len(one.Sinks[0].Intervals); n != 2 {
		t.Fatalf("%d files for an interval of two segments", n)
	}
	s.begin(one)
	s.complete(1)
	s.want("after the stage that follows", "1 2")
}

// TestWhatGatheredIsCommittedInParts: no transaction takes all that has come while the brokers were away, each ends with an interval,
// and a death between two of them neither loses nor doubles anything.
func TestWhatGatheredIsCommittedInParts(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.bounds.Transaction = 1
	s.begin(nil)
	var last *manifest.Manifest
	for i := range 4 {
		s.write(1+i, "a")
		last = s.part()
	}
	o := s.out.(*kafkaTransactional)
	if err := o.await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for want := ident.CheckpointID(1); want <= 2; want++ {
		if err := o.commitSome(t.Context(), s.cp); err != nil {
			t.Fatal(err)
		}
		if got := o.known(); got != want {
			t.Fatalf("the marker is %d, want %d", got, want)
		}
	}
	s.want("after two of four parts", "1 2")
	s.begin(last)
	s.complete(s.cp)
	s.want("after the stage that follows", "1 2 3 4")
}

// TestResultsThatWaitForBrokersAreBounded: the output takes no more while complete checkpoints wait, and goes on when they are
// committed; what no complete checkpoint covers never holds up the trigger of the next.
func TestResultsThatWaitForBrokersAreBounded(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.bounds.Segment, s.bounds.Due = 1, 1
	s.begin(nil)
	s.write(1, "a")
	s.write(2, "a")
	s.part() // fails: no complete checkpoint covers these
	s.write(3, "a")
	s.part()
	o := s.out.(*kafkaTransactional)
	o.mu.Lock()
	o.due = s.cp // complete, and the brokers are away
	o.mu.Unlock()
	s.write(4, "a")
	s.cp++
	if err := s.out.Trigger(t.Context(), s.cp); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.out.Prepare(within, s.cp); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a checkpoint passes while its results have no room: %v", err)
	}
	s.complete(s.cp - 1)
	if _, _, err := s.out.Prepare(t.Context(), s.cp); err != nil {
		t.Error(err)
	}
	s.complete(s.cp)
	s.want("at the end", "1 2 3 4")
}

// TestAFileOfResultsThatIsGone: the stream stops by the name of what is lost, which is no checkpoint that another one could stand
// in for.
func TestAFileOfResultsThatIsGone(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	s.write(1, "a")
	one := s.part()
	if err := s.store.Drop(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	err := s.out.Complete(t.Context(), one.Checkpoint)
	var stop *Stop
	if !errors.As(err, &stop) || stop.Code != "results_lost" || !errors.As(s.out.Stopped(), &stop) {
		t.Errorf("%v, stopped %v", err, s.out.Stopped())
	}
	s.want("nothing of it", "")
}

// TestFilesOfALineThatWasCutAreLeftAlone: a stream goes back from 9 to 5, and the cleaner still hears of 9 when the new stage has
// results in files.
func TestFilesOfALineThatWasCutAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	var five *manifest.Manifest
	for s.cp < 9 {
		if m := s.part(); s.cp == 5 {
			five = m
		}
	}
	s.settled, s.bounds.Segment = 9, 1
	s.begin(five)
	s.write(1, "a")
	if err := s.out.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Retain(t.Context(), 7, []ident.CheckpointID{5, 9}); err != nil {
		t.Fatal(err)
	}
	ten := s.part()
	s.complete(ten.Checkpoint)
	s.want("after the next checkpoint", "1")
}

func TestKafkaShowsWhatCompleteCheckpointsCover(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	s.write(1, "a", "b")
	one := s.part()
	s.write(3, "a")
	s.want("before the first is complete", "")
	if len(one.Sinks[0].Intervals) != 1 || one.Sinks[0].Intervals[0].Rows != 2 || len(one.Files) != 1 {
		t.Errorf("the part names %+v", one)
	}
	s.complete(one.Checkpoint)
	s.complete(one.Checkpoint) // it may be repeated
	s.want("the first is complete", "1 2")
	s.part() // fails: its results come with the next that is complete
	s.write(4, "b")
	three := s.part()
	if got := len(three.Sinks[0].Intervals); got != 2 || three.Sinks[0].Marker != 1 {
		t.Errorf("the part names %d intervals and marker %d, want those since the first", got, three.Sinks[0].Marker)
	}
	s.complete(three.Checkpoint)
	s.want("the third is complete", "1 2 3 4")
}

// T28: the coordinator has made c complete, the task dies before its commit: the next stage does it, once.
func TestT28_AKafkaCommitThatWasLeftOpenIsDone(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	s.write(1, "a", "b")
	one := s.part()
	s.write(3, "dead timeline")
	s.begin(one)
	s.want("before the open commit", "")
	s.complete(one.Checkpoint)
	s.want("after the open commit", "1 2")
	s.write(3, "c")
	two := s.part()
	s.complete(two.Checkpoint)
	s.begin(one) // a stage that the task dies in again, from the older one: nothing twice
	if err := s.out.Complete(t.Context(), one.Checkpoint); err != nil {
		t.Fatal(err)
	}
	s.want("what was committed is not taken back", "1 2 3")
}

// T30: an interval without results is committed as well: else the marker would stand, and look like a commit that is open.
func TestT30_NothingToCommitIsCommitted(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	one := s.part()
	s.complete(one.Checkpoint)
	s.begin(one)
	s.write(1, "a")
	two := s.part()
	if two.Sinks[0].Marker != one.Checkpoint {
		t.Errorf("marker %d, want %d", two.Sinks[0].Marker, one.Checkpoint)
	}
	s.complete(two.Checkpoint)
	s.want("the second is complete", "1")
}

// T31: nobody knows how a commit has ended: the marker says so, and nothing is there twice.
func TestT31_AnUnclearEndIsDecidedByTheMarker(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprint("committed=", ended), func(t *testing.T) {
			t.Parallel()
			s := newShown(t, testkafka.Shared(t))
			s.begin(nil)
			s.write(1, "a")
			one := s.part()
			o := s.out.(*kafkaTransactional)
			if ended { // the answer of the commit was lost
				s.complete(one.Checkpoint)
				o.mu.Lock()
				o.marker, o.segments = 0, []segment{{one.Sinks[0].Intervals[0], one.Files[0]}}
				o.mu.Unlock()
			}
			o.committing.Lock()
			if err := o.outcome(&kafka.Error{Code: kafka.CodeOutcomeUnknown, Err: errors.New("the answer was lost")}); err == nil || o.tx != nil {
				t.Errorf("the transactor goes on after %v", err)
			}
			o.committing.Unlock()
			s.complete(one.Checkpoint)
			s.want("decided", "1")
		})
	}
}

func TestKafkaThatWentBackStopsTheStream(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	one := s.part()
	one.Sinks[0].Marker = 5 // has been seen committed
	s.begin(one)
	_, _, err := s.out.Prepare(t.Context(), 9)
	var stop *Stop
	if !errors.As(err, &stop) || stop.Code != CodeWentBack {
		t.Errorf("got %v, want %s", err, CodeWentBack)
	}
}

// A user goes back to an older checkpoint and accepts duplicates: what is committed then is committed once more, and once.
func TestAStageThatGoesBackSetsTheMarkerBack(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	s.write(1, "a")
	one := s.part()
	s.complete(one.Checkpoint)
	s.write(2, "b")
	two := s.part()
	s.complete(two.Checkpoint)
	s.begin(one) // back from two
	s.write(2, "b")
	three := s.part()
	s.begin(three) // it dies before the commit
	s.complete(three.Checkpoint)
	s.want("shown once more", "1 2 2")
}

// A task that slept asks before it takes the id over: else it would fence the stage that has taken its place.
func TestT21_ASleeperDoesNotFenceItsSuccessor(t *testing.T) {
	t.Parallel()
	s := newShown(t, testkafka.Shared(t))
	s.begin(nil)
	s.write(1, "a")
	one := s.part()
	sleeper := s.out
	s.out = nil
	defer sleeper.Close()
	s.begin(one)
	s.complete(one.Checkpoint)
	s.current = fmt.Errorf("another stage: %w", pgtable.ErrFenced)
	if err := sleeper.Complete(t.Context(), one.Checkpoint); !stopsKafka(err) { // its producer is fenced
		t.Errorf("the sleeper commits: %v", err)
	}
	o := sleeper.(*kafkaTransactional)
	o.committing.Lock()
	o.tx = nil
	o.committing.Unlock()
	if err := o.commit(t.Context(), one.Checkpoint+1); !errors.Is(err, pgtable.ErrFenced) {
		t.Errorf("the sleeper takes the id over: %v", err)
	}
	s.write(2, "b")
	s.complete(s.part().Checkpoint)
	s.want("the successor", "1 2")
}

// TestKafkaAgainstAModel: whatever dies and whenever, readers see the results up to the last commit, each once, in order.
func TestKafkaAgainstAModel(t *testing.T) {
	t.Parallel()
	addresses := testkafka.Shared(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			s, r := newShown(t, addresses), newDice(seed)
			s.begin(nil)
			restored := (*manifest.Manifest)(nil) // the newest complete part
			next, covered := 1, 1                 // the next result, and that of the restored part
			atTrigger := map[ident.CheckpointID]int{}
			for range 40 {
				switch r.n(6) {
				case 0, 1:
					s.write(next, slices.Repeat([]string{"k"}, 1+r.n(3))...)
					next += r.last + 1
				case 2, 3, 4:
					m := s.part()
					atTrigger[m.Checkpoint] = next
					if r.n(3) == 0 {
						continue // it fails
					}
					restored, covered = m, next
					if r.n(3) > 0 {
						s.complete(m.Checkpoint)
						continue
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.n(20))*time.Millisecond)
					_ = s.out.Complete(ctx, m.Checkpoint) // cut off anywhere
					cancel()
				case 5:
					s.begin(restored)
					next = covered
					if restored != nil && r.n(2) == 0 {
						s.complete(restored.Checkpoint)
					}
				}
			}
			m := s.part()
			s.complete(m.Checkpoint)
			var want []string
			for n := 1; n < next; n++ {
				want = append(want, fmt.Sprint(n))
			}
			s.want("in the end", strings.Join(want, " "))
		})
	}
}

// dice are the choices of a seed.
type dice struct {
	state uint64
	last  int
}

func newDice(seed uint64) *dice { return &dice{state: seed*2654435761 + 1} }

// n is a number below m.
func (d *dice) n(m int) int {
	d.state = d.state*6364136223846793005 + 1442695040888963407
	d.last = int(d.state>>33) % m
	return d.last
}
