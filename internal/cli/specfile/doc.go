// Package specfile reads what people keep in files: specs in YAML and JSON, statements in SQL.
//
// It owns: which files a path means, the cutting of a file into objects or statements, and the way from a fault back to
// file, line and column. It does not own: the form of specs (package spec) and of SQL (package sql).
//
// Start reading at Read and Statements.
package specfile
