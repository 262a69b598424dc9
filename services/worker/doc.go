// Package worker wires a worker: the tasks of the vgroups that its node owns, ingest, results (DESIGN §2).
//
// It owns: which parts there are, how they hang together, and the order in which they begin and end. It does not own: any of
// their behaviour. Start reading at New; a record's path is in internal/task.
package worker
