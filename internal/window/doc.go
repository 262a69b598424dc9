// Package window names windows, pre-aggregates rows at the source, and keeps the window state of an aggregating task
// (DESIGN §8; docs/design/0002 on the form of the state and its speed).
//
// It owns: Windows, the one function that names windows and panes, with calendar arithmetic; PreAgg (source side);
// State (aggregating side). It does not own: which rows are late (package watermark decides, with Windows.LastEnd),
// the accumulators (package agg), blocks and their numbers, watermarks, sinks. It imports agg and tablehash (the canonical
// key) beside the vocabulary.
//
// # Panes
//
// Sliding windows are built from panes: a pane belongs to a window wholly or not at all. A row goes into one pane; what
// it costs does not depend on size/slide. A window that does not overlap others is its own pane.
//
// # The partial
//
// PreAgg hands out, and State takes, batches with one row per (group, pane, from):
//
//	group keys  as named in the config, in order
//	_pane       timestamp  start of the pane
//	_from       timestamp  lowest window end the rows count in, null: all windows of the pane; left out when all null
//	…           the accumulators (package agg), beginning with _rows
//
// _from is there because a row that is not late may lie in windows that its partition has closed already. It was
// decided at the source, row by row, and must not count there on any replay (DESIGN §8).
//
// # What State emits
//
// Batches with the group keys, _wstart, _wend, _wrows and one column per aggregate (see Schema). A window without rows
// is not emitted. Order: window end, then start, then the order in which groups entered; it is a function of what was
// merged and when, never of a map or a clock. Of a window that was spilled, the order of groups is any.
//
// Beside, where it is asked to (StateConfig.Tell), it tells of windows that open and close, for webhooks: in emissions of
// their own, or as what results are.
//
// # Checkpoints
//
// Freeze copies the words of the cells that partials have touched since the last freeze, or of all, and shares the keys: an arena
// that is only appended to or replaced. Any goroutine then turns what is frozen into batches of partials (Frozen). What is not
// durable in the end is given back, and is in the next freeze. A new State takes such batches, the newest first (Restoring),
// and goes on: front, back and indexes are derived, so nothing else is kept.
//
// # More than memory holds
//
// A State that is bounded (Bound) puts the cells of cold panes into a Spill, as batches of partials: panes that are closed and
// kept for late rows, then those that close last. Its groups go as well. A pane that is spilled goes on taking partials, in
// new cells: merging is associative, so what is spilled and what came since add up whenever they are needed, for a window that
// closes or that a late row changes. Windows that do not overlap are closed one part after the other, by the hash of their
// groups, and need not fit. Of windows that overlap, the panes of those that close next stay in memory.
//
// A freeze takes a snapshot of the Spill, and puts the changed cells together where it writes; epochs, which freezes count, say
// what has changed. In a restore what was spilled first, of the newest file, wins over what comes later.
//
// A group is identified by its canonical key (key.go): null ≠ "", all NaNs are one, −0 is 0.
//
// All of it is pure: no clock, no goroutine, no I/O. Nothing is safe for use by several goroutines: a task has its own
// Windows, PreAgg or State.
//
// Start reading at Windows, then PreAgg.Add, then State.Merge and State.Advance; for checkpoints at Checkpointed.
package window
