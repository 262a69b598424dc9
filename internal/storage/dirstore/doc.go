// Package dirstore keeps checkpoints in a directory: of one node, or one that several nodes share (any POSIX file system;
// on a network it must show a directory as it is, DESIGN §10 "shared directory").
//
// It owns: the layout, the order in which things become durable, what is deleted. It does not own: the promises that this
// rests on (package storage), who may use the directory (the node locks its own data directory).
//
// # Layout
//
//	<root>/<stream>/stages/<stage>                     empty: a stage that has been seen; the highest counts
//	<root>/<stream>/tasks/<task>/<c>.manifest          a manifest's text
//	<root>/<stream>/tasks/<task>/<c>-<sha256>.file     content, written for checkpoint c, never changed
//	<root>/<stream>/tasks/<task>/<c>-<random>.tmp      being written
//	<root>/dropped-<stream>-<random>                   a dropped stream that is being deleted
//
// All of a task is in one directory: one look at it shows manifests and files as of one moment, and one fsync makes all
// its names durable.
//
// # Order
//
// A file: written to a temporary name, fsynced, renamed, directory fsynced. A manifest: when all that it names is found,
// written to a temporary name, fsynced, linked (which never replaces another one, also not that of another host),
// directory fsynced. Deleting: manifests, directory fsynced, files. So a visible manifest names files that are there, at any
// kill and crash.
//
// A sync that failed is never repeated. A file is written anew under another temporary name; a name is given anew, by
// renaming a new file over the old one of the same content, before the directory is synced again.
//
// # Several nodes
//
// No lock is held that rests on one host's kernel. A stage is raised by making a file of its name: several can, in any
// order, and the highest counts. Commit looks at the stages first and last, so none succeeds that ends after a
// higher Fence has. A zombie may still leave a manifest that nobody asks for: its checkpoint was not complete when the
// higher stage began, and never is. Two cleaners delete the same things; one that finds a manifest gone that it has just
// seen listed leaves the work to the other.
//
// Start reading at Store, then publish.
package dirstore
