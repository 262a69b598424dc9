// Package memory is the node's memory pool (worker.memory, DESIGN §5, I18): what its tasks hold between reading and
// acknowledged writing takes its bytes from here, so that a node with many streams, or with a sink that is shut, stays
// within what it was given.
//
// It owns: one dispatch.Budget behind a mutex, one Account a task, the wake-up of those who wait for room. It does not
// own: the rules (package dispatch), what is kept where.
//
// Who takes what:
//
//	chunks         the fetchers, through Pool: a kafka.Budget. A full pool fetches only for partitions that hold nothing,
//	               a little at a time
//	blocks         the source task: from the moment rows are encoded until the broker has acknowledged them
//	held blocks    the receiving task
//	result rows    each output of a task: from Write until they are committed or acknowledged
//
// Decoders and other working memory are not in it; the ring of the live results has a share of its own. Nor is window state:
// it has a whole of its own (state.memory), which Shares divides; what is beyond a task's share goes to disk.
//
// Invariants: bytes are taken before more work is begun, or are in use already and then counted in any case; a task
// that holds nothing may always take one block, so whatever fills the pool, each task can go on with the next step that
// frees memory; an account that is closed holds nothing, and what is given back to it late counts for nothing.
//
// What a source does when it has no room is to take no more chunks: its inbox fills, its partitions are left out of the
// fetch, and Kafka keeps the rest.
//
// All methods may be called from any goroutine and none blocks.
package memory
