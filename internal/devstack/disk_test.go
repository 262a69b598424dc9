package devstack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// lines returns those that contain the words.
func (j *journal) lines(words string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, words) {
			found = append(found, line)
		}
	}
	return found
}

// crowded is a broker on a disk whose free space the test says.
func crowded(t *testing.T, free *atomic.Int64) (*Broker, *journal) {
	t.Helper()
	log := &journal{}
	b, err := StartBroker(t.Context(), t.TempDir(), BrokerOptions{
		Log:  slog.New(slog.NewTextHandler(log, nil)),
		room: func(string) (int64, error) { return free.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Stop() })
	return b, log
}

// writer returns a function that writes a record once, without repeating what the broker refuses.
func writer(t *testing.T, b *Broker) func() error {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs()...), kgo.DefaultProduceTopic("t"), kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	return func() error { return c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr() }
}

// until waits for a state that comes by itself.
func until(t *testing.T, what string, seen func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !seen(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never seen: " + what)
		}
	}
}

// TestT51_AFullDiskIsAStateOfTheBroker: it is told to producers and, once, to the log; room ends it without a restart.
func TestT51_AFullDiskIsAStateOfTheBroker(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 30)
	b, log := crowded(t, &free)
	write := writer(t, b)
	if err := write(); err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 2; round++ {
		free.Store(1 << 20)
		until(t, "a refusal", func() bool { return errors.Is(write(), kerr.KafkaStorageError) })
		free.Store(reserve + 1) // not enough to begin again
		for range 3 {
			if err := write(); !errors.Is(err, kerr.KafkaStorageError) {
				t.Errorf("while it is full: %v", err)
			}
		}
		free.Store(1 << 30)
		until(t, "a record", func() bool { return write() == nil })
		begun, ended := log.lines("the disk is full"), log.lines("the disk has room again")
		if len(begun) != round || len(ended) != round {
			t.Fatalf("the log says %q and %q in round %d", begun, ended, round)
		}
		for _, want := range []string{"level=ERROR", b.disk.dir, "free some space"} {
			if !strings.Contains(begun[0], want) {
				t.Errorf("%q does not say %q", begun[0], want)
			}
		}
	}
}

// TestAFailedWriteIsAFullDisk: a quota ends what may be written before the disk is full.
func TestAFailedWriteIsAFullDisk(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 30)
	b, log := crowded(t, &free)
	write := writer(t, b)
	for range 100 { // each record fails
		b.disk.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", "t", 0, &fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT})
	}
	until(t, "a refusal", func() bool { return errors.Is(write(), kerr.KafkaStorageError) })
	until(t, "a record", func() bool { return write() == nil })
	if begun := log.lines("the disk is full"); len(begun) != 1 {
		t.Errorf("the log says %q", begun)
	}
	b.disk.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", "t", 0, fmt.Errorf("write x: %w", syscall.EIO))
	if said := log.lines("persist batch t-0: write x"); len(said) != 1 {
		t.Errorf("another error of the broker is said as %q", said)
	}
}
