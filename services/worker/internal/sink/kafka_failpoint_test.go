//go:build failpoints

package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage/dirstore"
)

// liveKafka, where it is set, makes this binary a sink task with a transactional Kafka output that does what it says.
const liveKafka = "SINK_TEST_LIVE_KAFKA"

// kafkaOrder is the life of such a task in the first stage.
type kafkaOrder struct {
	Brokers []string
	Topic   string
	Dir     string             // of the checkpoint store
	Last    ident.CheckpointID // it takes all checkpoints up to this one
	Fails   bool               // none of them is complete
}

func (o kafkaOrder) live(ctx context.Context) error {
	client, err := kafka.Open(kafka.Config{Brokers: o.Brokers, DialTimeout: time.Second, RequestTimeout: time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	store, err := dirstore.Open(o.Dir)
	if err != nil {
		return err
	}
	s := shown{b: &broker{client: client}, store: store, topic: o.Topic, bounds: DefaultTransactionalBounds()}
	s.begin(nil)
	defer s.out.Close()
	for c := ident.CheckpointID(1); c <= o.Last; c++ {
		first, keys := results(c)
		if err := errors.Join(s.out.Write(ctx, rowsOf(first, keys...)), s.out.Trigger(ctx, c)); err != nil {
			return err
		}
		x, files, err := s.out.Prepare(ctx, c)
		for err != nil && s.out.Stopped() == nil {
			x, files, err = s.out.Prepare(ctx, c)
		}
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(manifest.Manifest{Checkpoint: c, Sinks: []manifest.Sink{x}, Files: files})
		}
		if err != nil {
			return err
		}
		if !o.Fails {
			complete(ctx, s.out, c)
		}
	}
	return nil
}

// run lets the task live in a process of its own, and returns the last part that it has said.
func (o kafkaOrder) run(t *testing.T, failpoints string) (last *manifest.Manifest) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := exec.CommandContext(ctx, os.Args[0])
	p.Env = append(os.Environ(), liveKafka+"="+string(text), "PONDAGE_FAILPOINTS="+failpoints)
	out, _ := p.Output() // a death is what it is for
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		m := &manifest.Manifest{}
		if d.Decode(m) != nil {
			return last
		}
		last = m
	}
}

// shownUpTo is what readers see when c is committed.
func shownUpTo(c ident.CheckpointID) string {
	var out []string
	for i := ident.CheckpointID(1); i <= c; i++ {
		first, keys := results(i)
		for n := range keys {
			out = append(out, fmt.Sprint(first+n))
		}
	}
	return strings.Join(out, " ")
}

func newKafkaOrder(t *testing.T) (kafkaOrder, *shown) {
	t.Helper()
	o := kafkaOrder{Brokers: testkafka.Shared(t), Dir: t.TempDir(), Last: 3}
	s := newShown(t, o.Brokers)
	store, err := dirstore.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s.store, o.Topic = store, s.topic
	return o, s
}

// TestFailpointsOfKafka: the task is killed, or fails, at each step; the next stage goes on from the newest checkpoint that
// it has prepared, and readers of committed records see each result up to there once (T28, T29, T31).
func TestFailpointsOfKafka(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"sink/interval:before-write", "storage/file:durable", "sink/commit:before-begin", "sink/commit:before-marker", "sink/commit:before-end", "sink/commit:ended",
	} {
		for _, action := range []string{"die@1", "die@2", "error(EIO)@1", "error(EIO)@2"} {
			t.Run(point+"="+action, func(t *testing.T) {
				t.Parallel()
				o, s := newKafkaOrder(t)
				last := o.run(t, point+"="+action)
				var c ident.CheckpointID
				if last != nil {
					c = last.Checkpoint
				}
				if dies := strings.HasPrefix(action, "die"); dies == (c == o.Last) {
					t.Fatalf("the task has come to %d", c)
				}
				s.begin(last)
				s.complete(c)
				s.want(fmt.Sprint("restored to ", c), shownUpTo(c))
				s.cp = c
				s.write(1, "next")
				s.complete(s.part().Checkpoint)
				s.want("the next stage goes on", strings.TrimSpace(shownUpTo(c)+" 1"))
			})
		}
	}
}

// TestFailpointsThatCommitKafkaEarly: what readers see is no complete checkpoint.
func TestFailpointsThatCommitKafkaEarly(t *testing.T) {
	t.Parallel()
	for failpoints, want := range map[string]string{"": "", "commit-early@1+": shownUpTo(3)} {
		o, s := newKafkaOrder(t)
		o.Fails = true
		o.run(t, failpoints)
		s.want("with "+failpoints, want)
	}
}
