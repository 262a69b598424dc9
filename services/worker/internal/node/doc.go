// Package node is this process as a member of the cluster: its identity and instance, its registration, its heartbeats,
// and the orders it obeys (DESIGN §11).
//
// It owns: the data directory's lock and identity file, the heartbeat loop, which order of each stream is in force (a
// lower term, generation or stage is ignored), which run of a stream exists. It does not own: what a run does (package
// stage), HTTP, or any decision about stages and placements; those are the coordinator's.
//
// Invariants: a (stage, task) is started at most once by this instance; a run of a lower stage is ended before one of a
// higher stage starts; of two orders the newer wins, also while the older one is being obeyed; a stream that the full list
// of the node's orders leaves out twice in a row is ended and forgotten; a superseded process ends its tasks and exits.
//
// On disk: <data>/node.json {node, counter, cluster, term}, replaced whole (written beside, synced, renamed, directory
// synced), and <data>/node.lock, held for as long as the process lives.
package node
