// Package live keeps the last results of each stream in memory for those who watch (server-sent events, DESIGN §9).
//
// It owns: a bounded ring of result batches per vgroup, positions in it, and the wake-up of watchers. It does not own:
// HTTP, the JSON form of a row, or anything durable: who needs every result queries the results or reads Kafka.
//
// A result's position is (stage, vgroup, sequence); the sequences of a vgroup are contiguous within a stage. A watcher
// reads from a Position, the vector of the next sequences of all vgroups, and is told when rows that it wanted are gone
// (the ring moved on) or the stage is another: then it should query.
//
// The rings of a node share a bounded memory. Publishing costs no encoding and never waits: a slow watcher loses its place, nobody else anything. All methods may be
// called from any goroutine.
package live
