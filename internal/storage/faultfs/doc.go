// Package faultfs is a file system in memory that fails as disks and kernels do: it can be full, an operation can fail,
// the process can be killed at any operation, and a crash loses what was not synced, or half of it.
//
// It owns: what a crash may leave. It does not own: anything that is not a test.
//
// The model is that of a journalling file system at its worst:
//
//	content   durable as of the last Sync; of what was written since, a crash leaves a beginning, and zeros behind it
//	name      durable as of the last SyncDir of its directory; of the changes since, a crash keeps any
//	rename    whole or not at all: a crash never leaves neither name
//	failure   what a Sync or SyncDir that failed had to make durable never is, whatever later ones say: the kernel has
//	          dropped it, and told once
//
// Operations are counted from 1, so that a test can fail or kill each of a run in turn. FS is safe for use by several
// goroutines.
//
// Start reading at FS.
package faultfs
