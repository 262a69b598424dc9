// Package schema brings a metastore's schema to the newest migration (DESIGN §11, traps T55, T56).
//
// It owns: the table pondage.schema_info with the version and the lowest binary that may run, and the golang-migrate
// driver that runs package migrations over one pgx connection. It does not own: the SQL files.
//
// How it stands a kill at any statement: a migration and its version number are one transaction, so there is the state
// before or the state after; there is no dirty flag to repair. How it stands three replicas that start at once: the
// version is read, and acted on, under an advisory lock of the very session that runs the statements. A killed
// replica's session keeps the lock for as long as its last statement runs, so that nobody touches what still runs;
// waiters wait until their context ends.
package schema
