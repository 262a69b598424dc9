// Package snapshotter wires a node's snapshotter: what keeps checkpoint files and their replicas (DESIGN §§2, 10).
//
// It owns: which parts there are, how they hang together, and the condition of being ready: a data directory that can be
// written. It does not own: the API's form (openapi/snapshotter.yaml), what all services have in common
// (internal/httpserver), the lock on the data directory, which is the worker's of the same node. Start reading at New.
package snapshotter
