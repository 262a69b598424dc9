package ingest

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pondage/pondage/internal/problem"
)

// TestT51_AFullDiskOfTheBrokerIsNamed: to the request that meets it after its patience, to those after it at once, and no
// longer than it lasts.
func TestT51_AFullDiskOfTheBrokerIsNamed(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	hub := newHub(t, cluster.ListenAddrs())
	topic := newTopic(t, hub, 1, nil)
	s := New(newSource(t, topic, "device"), hub)
	take := func() (int64, error) {
		return s.Take(t.Context(), Request{Source: "readings", Body: strings.NewReader("{}\n")})
	}
	told := *kerr.KafkaStorageError
	told.Message = "the disk is full: free some space at /data/kafka"
	full := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Err: &told})
	s.patience = 100 * time.Millisecond
	for range 2 {
		_, err := take()
		p := asProblem(t, err)
		if p.Code != problem.CodeDiskFull || p.RetryAfter == 0 || !strings.Contains(p.Detail, told.Message) || !strings.Contains(p.Hint, "Free some space") {
			t.Errorf("%s after %s: %s", p.Code, p.RetryAfter, p.Detail)
		}
		s.patience = time.Hour // the next one need not wait
	}
	full.Remove()
	for end := time.Now().Add(30 * time.Second); ; {
		n, err := take()
		if err == nil && n == 1 {
			break
		}
		if asProblem(t, err).Code != problem.CodeDiskFull || time.Now().After(end) {
			t.Fatalf("with room again: %v", err)
		}
	}
	if got := read(t, hub, topic); len(got) != 2 { // the one of the first request, that its client was told to repeat, and the last
		t.Errorf("%d records in the topic", len(got))
	}
}
