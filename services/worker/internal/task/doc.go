// Package task is the shells of the tasks: one goroutine each that reads chunks from Kafka, drives the cores
// (decode, watermark, window, dispatch), and hands on what they say (DESIGN §§5, 6, 8).
//
// It owns: the loop of a source task and that of a receiving task, the order in which effects are obeyed, the counters of
// a source partition. It does not own: which rows are late (watermark), what a window holds (window), message numbers
// and credit (dispatch), the fetch and produce loops (kafka), placement and the handshake (package stage).
//
// A record's path through a source task: chunk → decode → rows.go (watermark, WHERE, keys, lateness) → an operator
// (pre-aggregation or projection) → at the flush: blocks to the edge, or rows to the chained sinks. Through a receiving
// task: chunk → header and CRC → dispatch.Receiver → window.State → watermark → emitted windows → chained sinks.
//
// Order of effects of a flush (source.go): the operator's batches are taken; the watermark is stamped; the rows are handed
// to the sender; what the watermark has to say beside them follows. So no watermark is ahead of a row it covers.
//
// Goroutines: everything in a task but its mailboxes and its Report belongs to the task's goroutine. Callbacks of the
// producer and of the credits only put into mailboxes.
//
// Start reading at Source.run, then rows.go, then Receiver.run.
package task
