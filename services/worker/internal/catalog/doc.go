// Package catalog finds sources and streams by name for the API of this worker.
//
// It owns: where a definition comes from (the order in force, for a stream that runs here; else the coordinator), how long
// an answer is used again, and the plan built of it. It does not own: definitions (the metastore's), orders (package node).
//
// An answer of the coordinator is used for FreshFor, so a definition that was just replaced may be seen that long. While
// the coordinator does not answer, what is known goes on being used: ingest and results do not depend on it (DESIGN §2).
// That a name is unknown is never remembered. At most maxKept names of each kind are kept. Many callers that ask for one
// name at once make one call.
//
// All methods may be called from any goroutine. Start reading at Catalog.
package catalog
