// Package checkpoint is the coordinator's side of checkpoints (DESIGN §7): which stream takes one now, how a running one
// goes on, when it is complete or failed, what may be deleted. It is pure.
//
// It owns: when a checkpoint is due, whose turn it is, the slots, what a running one waits for, its verdict, retention. It
// does not own: a task's part (package align), the rows and the locks under which a verdict is written (the metastore),
// requests, reports and orders (the coordinator's control), resets (they end a running checkpoint themselves, under the
// same locks).
//
// Level-triggered, like the rest of the coordinator's loop: Begin and Step look at facts, never at history, and name
// what to do; the shell does it as one guarded step and asks again. Doing nothing, or doing it twice, is harmless. So
// a coordinator that takes the lease adopts what runs simply by reading the rows: same id, same transaction. It counts the time of
// a running checkpoint from when it first saw it, because no clock is compared with another's; tasks count their own.
//
// # Who goes first
//
// What was asked for (by a user, by a move, as a stream's last one) before what is due by its interval; of equals the one that
// has waited longest. A checkpoint holds one of the cluster's slots while something comes from it; one without progress
// for StallAfter gives its slot up and goes on without (trap T33: four sinks that hang do not stop the others).
//
// # Verdicts
//
// Complete: every task of the stage's placement has reported done. Failed: one has reported failed or has refused, an
// instance that is placed is gone, or the time is over. What comes with another stage, transaction or id is not a fact of
// the running one; the shell answers it and leaves it out.
//
// Invariants: one checkpoint of a stream runs at a time; ids only rise; none begins unless every task allows it; a stream without
// anything new takes none, but for one that was asked for.
//
// Start reading at Begin, then Step. Scripts: testdata/scripts.
package checkpoint
