// Package vectors runs the window vectors: cases of windowed aggregation with the right final answer, one JSON file each.
//
// A case becomes a source and a stream (specs.go), which go through the real planner. Its input is then run by an
// Engine, and what stands at the end is compared with the case's answer: sums and counts exactly, floats to one part
// in 10⁹. Virtual is the engine of this package: it drives decoder, pipeline, dispatch, window and watermark cores in
// virtual time, without Kafka, clock and goroutines (cluster.go: the same cores that the worker's tasks drive, in the
// order of effects that their doc.go promises). Package conformance has the engine that is a running stack.
//
// It owns: the form of the vectors, which of them this version can run and why not the others (skip.go), the comparison. It
// does not own: what a window is. There is no end of input: after the last row no watermark ∞ and no closing by silence.
//
// In the words of the product: ignore_expired 1 is `late_by: table`, 0 is unbounded lateness; the input is one source
// partition; watermark_ms is the stream's watermark delay.
//
// Start reading at Run, then Case and cluster.
package vectors
