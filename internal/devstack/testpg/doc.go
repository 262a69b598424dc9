// Package testpg gives each test a database of its own on one Postgres that all tests of a binary share.
//
// The server is started by the first test that asks, and ends with the binary: no TestMain is needed. Its directory, in
// the system's place for temporary files, is removed by the next binary that starts one.
package testpg
