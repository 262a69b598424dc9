// Package storage is the seam behind which the checkpoints of tasks are kept: files, and manifests that name them
// (DESIGN §10).
//
// It owns: Store, what its callers and its implementations promise each other, and the errors that callers tell apart. It
// does not own: any implementation (dirstore: a directory, of one node or shared by several), what files and manifests
// mean (packages state and manifest), which checkpoint is complete and which are retained (the metastore, through the
// coordinator).
//
// # What a store promises
//
// A manifest that Commit has reported names only whole, durable files, at any kill, until Retain or Drop lets it go.
// Nothing that is half-written is ever visible. What is read has been verified before its first byte is given out. A
// lower stage than the highest seen of a stream commits nothing.
//
// # What its callers promise, so that nothing is deleted that somebody is about to name
//
// Nobody holds a lock, and no age is compared: writers and the cleaner go by the numbers of checkpoints.
//
//	A file is created for the lowest checkpoint whose manifest may name it.
//	A task's manifest of c names, of the files of checkpoints up to the newest complete one, only what that one's
//	manifest names, or that of the checkpoint which the stage has restored.
//	Retain is told the newest complete checkpoint, and the one that the present stage has restored until a newer one
//	is complete. What one list has left out, no later one has.
//
// The cleaner deletes what no manifest names and what is not of a checkpoint above the newest complete one. The
// interleaving that this stands against:
//
//	writer puts F for 15 · 14 is complete, the cleaner lists, no manifest names F · writer commits 15, which names F
//
// F stays, because 15 is above 14; and once 15 is complete its manifest is there, and names F, or nobody ever will: 15
// is complete only if every task has committed its manifest. A delta of 12, which failed, is named by 13 or never again.
// A writer that was stopped and goes on after 16 is complete may find its file gone: Commit says ErrMissing, and nobody
// waits for its checkpoint any more.
//
// Start reading at Store. A new implementation runs the suite of package storagetest.
package storage
