// Package ingest writes the records of HTTP requests into the topics of their sources (DESIGN §12, INTERFACE §3).
//
// It owns: how a body is cut into records, the key and partition of each, and when a request may be answered. It does not
// own: what a record means (nothing is decoded or checked here: what no stream can read becomes a dead letter there),
// HTTP, the produce queues (package kafka).
//
// A record is a line (up to LF, also an empty one, so that line numbers and counts agree with every other reader of the
// file; bytes behind the last LF are one, if there are any) or an element of a JSON array, byte for byte. Its key is the
// table name, where that is a member of the record and a string; its partition is Kafka's own choice for the key
// (murmur2), so that other producers of the topic agree. Records without a key go round the partitions, a run at a time;
// with an idempotency key they go by that, so that a repeat meets its first attempt. A topic that is missing is made.
//
// Invariants: Take returns nil only when all in-sync replicas have every record of the request; a record that was handed
// to Kafka is never taken back, so an error says how many there are and a repeat with the same idempotency key is
// harmless; memory is bounded: one record and one read buffer a request, maxPending bytes a partition, whatever the
// bodies' sizes.
//
// Goroutines: Take runs in its caller's; answers of Kafka come from the producer's loops and only count.
//
// Start reading at Service.Take.
package ingest
