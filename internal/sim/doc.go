// Package sim runs a stream on virtual time: source and receiving tasks, their edge, coordinators, a metastore, a
// checkpoint store, a table that is upserted into and a transactional output, all in memory, all through the cores that
// the services run (DESIGN §16, I1 to I8).
//
// A seed decides everything: what the records are, whether the stream ends, when its results are shown, who does something
// next, how many records a fetch brings, which requests are repeated, which words between processes are lost, late or
// doubled, which transactions end unclearly, when a source is cut off from the brokers, when another coordinator takes
// over, when a process dies. What a dead process had under way may still happen, and some of the dead go on for a while
// without knowing it. At the end both sinks are compared with a batch computation over the same records.
//
// The invariants, each named in the text of a failure:
//
//	I1, I2  expected.go: no result differs, is lost or is there twice, in either sink
//	I3      expected.go: each partition's counters, through all restores
//	I4      metastore.go, store.go: ids and transactions given once; complete, and restored, is what has every part
//	I5      store.go: what a task has taken of an upstream is what that one had sent before its barrier
//	I6      store.go: published offsets neither go back nor pass the newest complete checkpoint
//	I7      receiver.go: no watermark goes back; an idle source that held one would keep the run from its end
//	I8      table.go, metastore.go: nothing of an old stage or term has an effect
//
// It owns: the world around the cores, its faults, and the misbehaviours of package failpoint as they look here; a test
// shows that the comparison tells of each. It does not own: any rule of the product. Where a shell would have to decide, the
// world does what the cores' doc.go asks of shells; the sinks and the metastore are models of what DESIGN §§7 and 9 say of
// the real ones.
//
// A seed means the same run only while nothing here draws more or less: after a change of the simulation the kept seeds
// (testdata/seeds) are ordinary ones.
//
// Start reading at Run, then world.go.
package sim
