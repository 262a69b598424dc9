// Package connect opens what a cluster and its specs name: Kafka clusters and Postgres databases, each once a process
// and shared by whoever needs it.
//
// It owns: the connections of a process, secrets' references resolved on the way (never kept in a spec, never logged), and
// what is wrong, in words, with a connection that does not come about (Refusal). It does not own: what is said over them
// (packages kafka and pgtable).
//
// All methods may be called from any goroutine. Close ends everything; what was handed out is dead then.
//
// Start reading at Hub; at ProbePostgres for what a process does before.
package connect
