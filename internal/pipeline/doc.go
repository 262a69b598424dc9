// Package pipeline is what tasks do with rows, without any of the ways that rows come and go (DESIGN §8): the source
// side takes decoded rows through the watermark, WHERE, lateness, keys and arguments into an operator; the receiving side
// merges what the edge brings and turns closed windows into result rows.
//
// It owns: the order of decisions about one row, the counters of a source partition (I3), how a plan configures the
// watermark and window cores. It does not own: reading, blocks and numbers (package dispatch), sinks, what becomes of a row
// that is set aside. So the worker's task shells and the conformance runner drive the same code, one on Kafka and the
// clock, the other in virtual time.
//
// A Source or Receiving belongs to one task. A batch that flush or a Results hands out may be kept by its taker, but for
// partials: they are valid until emit returns.
//
// Imports: cores plan, expr, window, watermark; rowjson. Start reading at Source.Take and Aggregate.
package pipeline
