// Package task is the shells of the tasks: one goroutine each that reads chunks from Kafka, drives the cores
// (decode, pipeline, watermark, window, dispatch), and hands on what they say (DESIGN §§5, 6, 8).
//
// It owns: the loop of a source task and that of a receiving task, the order in which effects are obeyed, what ends a
// task and how that is named, the trace of a sampled block. It does not own: what becomes of a row (pipeline), which rows
// are late (watermark), what a window holds (window), message numbers and credit (dispatch), the fetch and produce loops
// (kafka), the node's memory (package memory), placement and the handshake (package stage).
//
// A record's path through a source task: chunk → decode → pipeline.Source (watermark, WHERE, keys, lateness,
// pre-aggregation or projection) → at the flush: blocks to the edge, or rows to the chained sinks. Through a receiving
// task: chunk → header and CRC → dispatch.Receiver → pipeline.Receiving and the watermark → result rows → chained sinks.
//
// Order of effects of a flush (flush.go): the pipeline's batches are taken; the watermark is stamped; the rows are handed
// to the sender; what the watermark has to say beside them follows. So no watermark is ahead of a row it covers.
//
// When a source takes input (Source.takes): not while it is paused, a flush waits for credit, or the node's memory is
// full and the task holds some of it. Its chunks then stay in the inbox, and their partitions are left out of the fetch.
//
// Checkpoints (a task with Common.Checkpoints): the Participant drives package align and obeys it in its order. A source
// takes its part between two chunks: partials are flushed, positions and the watermark's state noted, the trigger goes to
// every destination behind what waits there, and the task reads on. A receiver takes it when the triggers of all upstreams
// are in, before anything that was held. What was frozen shares nothing with the task: another goroutine writes windows,
// results, what was set aside, and the manifest last, because whoever reads it believes the rest. Positions are those of
// processing, not of the fetch (trap T23). A task behind a bound stays, finished, and takes part until its stage ends.
// Restored: sources seek, counters and watermarks go on (restored, not trusted), windows are read before the first block.
//
// How a task ends. By its context: ended from outside, nothing more is said. errFinished: its bound is reached and its
// results are durable. over, or a sink's fence: this stage is over, the report asks for a reset. errSuperseded: a higher
// stage runs already. Anything else: failed, with a code of the catalogue. In each case everything it has (subscriptions,
// chunks, memory, outputs) is given back before the report says so.
//
// Goroutines: everything in a task but its mailboxes and its Report belongs to the task's goroutine. Callbacks of the
// producer and of the credits only put into mailboxes.
//
// File map: shell, report, cause, metrics, trace (both kinds of task); source, chunk, flush, edge, split, repeats (source
// tasks); receiver; inbox, mailbox. Of checkpoints: checkpoint, words, part (both kinds), sourcestate, trigger,
// receiverstate, keyed. Start reading at Source.turn, then chunk.go and flush.go; then Receiver.turn.
package task
