// Package sink writes the results of one task to its outputs: Postgres and Kafka; and tells webhooks of windows (DESIGN §9).
//
// It owns: the bounded queue before each output, batching, retries with backoff, what to do with a row that the output
// will never take (the dead-letter topic), and the state of an output as the API shows it. It does not own: what a row
// is (package plan), its JSON form (rowjson), the result table (pgtable), the produce queue (kafka).
//
// A task hands its results to a Chain, in order; the chain gives each batch to every output. Invariants: an output
// writes the results of its task in the order they came; Flush returns only when everything handed over before it is
// durable (committed, or acknowledged by all in-sync replicas); a full queue makes Write wait, which holds the task and
// so its sources (trap T32), and no other stream; an output that is down is retried for ever, and shown.
//
// Checkpoints (DESIGN §9): a trigger passes the output in order with the batches; what the output then does of a checkpoint is
// Checkpointed. An output is made with what its stage goes on from (Start), and puts its target in order before it writes:
// an upserting Postgres table goes back to the restored checkpoint, a transactional one drops what dead stages have staged.
// What no repeating cures is a Stop with its code.
//
// Memory: a batch counts as its task's from Write until it is durable; Write waits for it (package memory).
//
// Goroutines: one an output and task, ended by Close. Write, Flush and Close are called by the task's goroutine.
//
// Start reading at Chain, then pump.go.
package sink
