// Package pgtable is a stream's result table in Postgres: its DDL, the check of a table that is already there, the fence,
// the upsert and the queries over it (DESIGN §9, INTERFACE §3).
//
// It owns: how result columns become Postgres columns and back, the unique index on the natural key (NULLS NOT DISTINCT),
// the columns _cp, _vgroup and _written, the fence rows and the marks of what is published in schema pondage, the tables
// beside a result table, how rows expire, the SQL text of all of it. It does not own: when results are written or how
// failures are retried (the worker's sink), nor what the columns are (package plan).
//
// Names beside a table fit into what Postgres takes of a name; of a long one they carry a hash.
//
//	<table>          the results
//	<table>__before  delivery upsert: rows as they were before an interval replaced them (before.go)
//	<table>__stage   delivery transactional: results whose checkpoint is not complete (staging.go)
//	pondage.fence    a row a (cluster, stream, vgroup): its stage, and since which checkpoint images are kept
//	pondage.staged   a row a (cluster, stream, vgroup): the newest checkpoint that the vgroup has staged everything before
//	pondage.published  a row a transactional stream: the newest checkpoint whose results are in the table
//	pondage.owner    a row a result table: the stream that the tables beside it and its _cp are of (adopt.go)
//
// The coordinator uses it when a stream is created (Create refuses another shape by name), the worker to write and to
// answer queries.
//
// Invariants: one statement never touches a key twice (Upsert takes the last row of a key); a write commits only while
// the fence holds the writer's own stage; only what all vgroups have staged is published.
//
// Start reading at Table, then Upsert.
package pgtable
