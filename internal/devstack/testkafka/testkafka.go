// Package testkafka gives tests an in-process Kafka-compatible broker.
package testkafka

import "testing"

// Start returns the addresses of a fresh cluster of n brokers in memory, gone at the end of the test.
func Start(t testing.TB, n int) []string { return nil }

// Shared returns the addresses of one broker that all tests of the binary share: use topics of your own (Topic).
func Shared(t testing.TB) []string { return nil }

// Topic returns a topic name that no other test uses.
func Topic(t testing.TB) string { return "" }
