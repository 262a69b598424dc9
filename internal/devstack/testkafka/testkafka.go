// Package testkafka gives tests an in-process Kafka-compatible broker.
package testkafka

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pondage/pondage/internal/devstack"
)

// Start returns the addresses of a fresh cluster of n brokers in memory, gone at the end of the test.
func Start(t testing.TB, n int) []string {
	t.Helper()
	broker, err := devstack.StartBroker(t.Context(), "", devstack.BrokerOptions{Brokers: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Stop(); err != nil {
			t.Error(err)
		}
	})
	return broker.Addrs()
}

var shared = sync.OnceValues(func() (*devstack.Broker, error) {
	return devstack.StartBroker(context.Background(), "", devstack.BrokerOptions{})
})

// Shared returns the addresses of one broker that all tests of the binary share: use topics of your own (Topic).
func Shared(t testing.TB) []string {
	t.Helper()
	broker, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return broker.Addrs()
}

var topics atomic.Int64

// Topic returns a topic name that no other test of the binary uses.
func Topic(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("test_%d", topics.Add(1))
}
