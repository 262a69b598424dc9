// Package results answers questions about the results that streams have kept in Postgres, and removes those that are
// kept no longer (INTERFACE §3, DESIGN §9).
//
// It owns: the reading of filter, order and cursor, the forms JSON, NDJSON and CSV, the connections of readers, the
// retention of the streams' own result tables (Janitor). It does not own: the tables and their SQL (package pgtable), HTTP,
// which table a stream has (package stage).
//
// Readers have connections of their own, few a database, so that a slow client holds up other readers and never a sink.
// Each question is one read-only statement: a consistent picture. A table that is not there yet has no rows.
//
// Forms. NDJSON: the JSON row and LF. CSV (RFC 4180): a header, CRLF, the text of the JSON value without its quotes; an
// empty field is null, an empty text is "". A streamed form writes nothing before its first 64 KiB are ready, so that what
// goes wrong early is an answer of its own; an error after that leaves it unfinished, and the caller breaks the connection.
//
// Start reading at Service.Page.
package results
