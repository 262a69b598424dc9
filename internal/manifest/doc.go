// Package manifest is what a task's checkpoint consists of (DESIGN §§1, 7, 10): the names of its files with their sizes
// and hashes, the offsets of its source, the small state of its cores, what its sinks have still to show.
//
// It owns: the record, its encoding, the check of everything in it that can be checked without the files. It does not
// own: the files (package storage keeps them, package state knows what is in them), what the cores' state means (the
// cores), which checkpoint is complete (the metastore).
//
// Invariants. A manifest is immutable; its id is the hash of its bytes, so that two that differ have different ids and a
// damaged one is found before it is used. Decode takes nothing that Encode does not write: an unknown member is of a newer
// version, and is named.
//
// # Form
//
//	PONDAGE-MANIFEST <version> <SHA-256 of the rest, hex>\n
//	{"cluster":…}                                              one JSON object, then a line feed
//
// JSON, because a manifest is small, and who has to find out at night why a stream does not come up can read it.
//
// Start reading at Manifest.
package manifest
