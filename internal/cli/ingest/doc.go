// Package ingest sends the records of a file to a worker, in order, until Kafka has all of them.
//
// It owns: the cutting of an input into batches, the repetition of a batch, the pace, the counting of progress. It does not
// own: where the worker is (the caller asks the coordinator), how progress is shown.
//
// Invariants: one batch is under way at a time, so that records keep their order and none becomes late by overtaking; a
// batch that is repeated has its Idempotency-Key again, so that its records are read once (DESIGN §12). While a batch is
// under way, the next one is prepared by a second goroutine.
//
// Start reading at Send.
package ingest
