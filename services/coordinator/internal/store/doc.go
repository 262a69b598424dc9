// Package store is the seam between the coordinator and its metastore (DESIGN §11).
//
// It owns: the records of the metastore as Go values, the Store and Tx interfaces, their errors. It does not own: SQL
// (package store/pgstore fills the seam with Postgres, store/memstore with memory; store/storetest proves that both
// behave alike) and no decision about what to write (package control).
//
// Invariants, for every implementation:
//   - Every write happens in Update, which first takes the lease's term row shared and refuses a term that is not the
//     current one. So a leader that slept changes nothing (DESIGN §11, trap T57).
//   - Inside Update a row that was read is locked until the end: read, decide and act are one guarded step (trap T41).
//     Rows are locked in the order stream → source → node → vgroups; who needs several reads them in this order.
//   - An Update that returned an error changed nothing, unless the error is ErrUnclear: then nobody knows.
//   - Every committed Update wakes all Watch channels; wake-ups may be lost or doubled, so watchers poll as well.
//
// The transitions of checkpoints (cuts.go) are functions over Tx, the same for every implementation. All of them are run
// with the stream's row locked, and the tables' constraints refuse what they must never write. The interleaving that the
// lock stands against: the last part of checkpoint 7 is reported while a node's death is noticed. CompleteCheckpoint and
// RaiseStage take the same row; if the first is first, 7 is complete and the new stage restores it; if the second is
// first, 7 has failed, the stage is another, and CompleteCheckpoint finds its attempt void. There is no third way, in
// which sinks commit 7 and tasks restore 6.
//
// Start reading at Store, then cuts.go.
package store
