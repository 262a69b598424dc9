// Package testpg gives each test a database of its own on one Postgres that all tests of a binary share.
package testpg

import "testing"

// DSN returns the connection URL of a fresh, empty database, dropped at the end of the test.
func DSN(t testing.TB) string { return "" }
