// Package overflow is the window.Spill on disk: what of the windows memory has no room for lies in a Pebble (DESIGN §10).
//
// It owns: the directory, which it empties, and the form of what lies there. It does not own: what goes there and when
// (package window). Nothing of it outlives its task: a restore builds it anew from the checkpoint's files, so there is no
// write-ahead log, and nothing is synced.
//
// # Form
//
//	pane    8 bytes, big-endian, the sign bit flipped: in order of time
//	bucket  1 byte
//	number  8 bytes, big-endian: in the order of Put
//	→ epoch, 8 bytes, big-endian; 1 when restored, else 0; a batch of partials as a block of an edge carries it
//
// One goroutine may use a Spill, and another one each of its snapshots, which any goroutine may close. A failed flush in the background is an error of
// the next call; a full disk is window.ErrSpillFull. It never waits for room, and never ends the process: Pebble does both, where it
// is let (neverStall, files). Its task ends, and with it the spill; the next stage begins anew from a checkpoint.
//
// Start reading at Open.
package overflow
