// Package storage keeps the checkpoints of tasks: files by their hash, and manifests that name them (DESIGN §10).
//
// It owns: Store, the interface that the worker writes checkpoints through; Dir, the store in a directory, of one node or,
// where the directory is shared by all nodes, of many; the order in which things become durable; what may be deleted. It
// does not own: what files and manifests mean (packages state and manifest), which checkpoint is complete and which are
// retained (the metastore, through the coordinator), the replicas of other nodes.
//
// # Layout
//
//	<dir>/<stream>/files/<sha256>                  immutable content
//	<dir>/<stream>/manifests/<checkpoint>/<task>   a manifest's text
//	<dir>/<stream>/stages/<stage>                  empty: a stage that has been seen
//	<dir>/<stream>/tmp/<random>                    being written
//	<dir>/<stream>/trash/<sha256>                  about to be deleted
//	<dir>/trash-<stream>-<random>                  a dropped stream, being deleted
//
// # Order
//
// A file: written to tmp, fsynced, renamed into files, both directories fsynced. A manifest: only when every file that it
// names is there; in the same way. So what a visible manifest names is durable, at any kill; an fsync that has failed
// is never repeated on the same file, because the kernel may have forgotten what it could not write: the file is written anew.
//
// # Deleting beside writers
//
// Writers and cleaners may be on different machines and hold no lock. What stands against losing a file:
//
//	writer puts F · cleaner lists the manifests, none names F · writer commits a manifest that names F · cleaner deletes F
//
// A cleaner takes only files that are older than Grace (by the file system's own clock), moves one to trash, lists the
// manifests again, and moves it back when one names it now. A writer looks for its files after its manifest is
// visible: one that is in trash by then makes the commit fail and the manifest go. Whichever looks second sees the other. A writer that
// uses a file that is there already renews its age first.
//
// Invariants: a manifest that Commit has reported names only whole, durable files until Retain or Drop lets it go; Open
// has read the whole file and found its hash before it gives out the first byte; a lower stage than the highest
// seen commits nothing.
//
// Start reading at Store, then Dir.
package storage
