// Package state is the keyed state of a windowed task in files (DESIGN §10): what a file looks like, when a chain of
// deltas begins anew with a base, how a chain is read back.
//
// It owns: the form of a file, the choice between base and delta. It does not own: what changes (window.State freezes
// it), where files lie and that they are whole (package storage), which of them make a checkpoint (package manifest), windows
// beyond memory (package overflow).
//
// # A chain
//
// A checkpoint's state is one base, which has everything, and the deltas after it, each with the cells that changed since the file
// before. Later files win. Windows that were closed and purged need no mark: the manifest has the watermark, and a restore
// leaves out what it has purged. When the deltas together outweigh the base, the next file is a base: so a checkpoint
// writes on average at most three times what has changed, and a restore reads about twice what there is. Little changes of a
// large state are bounded by their number as well (maxDeltas).
//
// # A changed query
//
// A restore finds state by what it is of: the operator by its id, accumulators by their names (plan.Operator). What both
// forms of the query have goes on. An accumulator that is new has no value in the windows that were open then, rather than
// one that looks whole: they are partial, and say since when; files carry that on. One that is gone is refused, unless its state
// may be dropped. An argument has no number in the file but its place among the accumulators.
//
// # A file
//
//	PONDAGE-STATE 1\n
//	frame   the header: a JSON object (Header)
//	frame   a batch of partials, as a block of an edge carries it (Arrow IPC); in the order of pane, key, from
//	…
//	end     a frame of length 0, and a frame of 16 bytes: rows, batches (uint64, big-endian)
//
// A frame is length and CRC-32C (uint32, big-endian) before its bytes. A file that does not come to its end is damaged.
// Any Arrow reader reads the batches.
//
// The order is by pane and key, not by the hash of the group: neighbours are alike, which compresses, and a file is read as a
// whole anyway.
//
// Invariants: Restore never panics and never believes a length that it has not checked; it gives out nothing of a frame whose
// CRC is wrong.
//
// Start reading at Write and Restore, then Chain.
package state
