// Package demo is `pondage demo`: the main job on real flights, in one process and in under a minute.
//
// It starts the embedded stack in a fresh directory on free ports, declares a source and streams over REST, sends the
// records of examples/flights through ingest and Kafka, shows how the streams get on, and compares what has landed in
// Postgres, in the Kafka topics and in the HTTP results with an independent batch computation over the same file.
//
// It owns: the order of these steps, what is shown, the batch twins of the example streams (streams.go). It does not own:
// the stack (internal/devstack/stack), the computation and comparison (internal/batch).
//
// Progress goes to standard error, results and the closing lines to standard output. Whatever happens, the stack is stopped
// and its directory removed.
//
// Start reading at demo.run.
package demo
