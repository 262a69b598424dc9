// Package migrations holds the metastore's migrations as embedded SQL files (DESIGN §11).
//
// It owns: the files, in golang-migrate's naming, and the number of the newest. It does not own: running them; package
// schema of the coordinator's store does, each in one transaction together with its version number, so that a kill at
// any statement leaves the state before or the state after and nothing to repair.
//
// Rules for a new file: expand first, contract in a later release; no statement that refuses to run in a transaction;
// statements end with a semicolon at the end of a line and are set apart by an empty line (the kill test cuts there);
// raise schema_info.min_binary when older binaries can no longer run on the result, and then end the term of who leads: a
// coordinator that runs looks at min_binary again when it takes the lease (trap T56).
package migrations

import "embed"

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS

// Latest is the version of the newest migration, and so the schema level that this binary knows.
const Latest = 2
