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
// Start reading at Store.
package store
