// Package pgstore fills the store seam with Postgres 15 or newer (DESIGN §11).
//
// It owns: the connection pool and its time-outs, transactions, the translation of Postgres' errors into the seam's, the
// wake-ups by LISTEN/NOTIFY, the lease's statements. It does not own: the statements' text (queries/*.sql; package query
// is generated from it by sqlc) and the schema (package schema).
//
// Every session carries the application name <cluster>.coordinator.<holder>, so that the sessions of a leader that does
// not answer can be found and ended by who takes over.
//
// Start reading at Store.Update.
package pgstore
