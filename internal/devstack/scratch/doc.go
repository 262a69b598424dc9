// Package scratch runs a stack that leaves nothing behind: in a fresh directory, on free ports, with a Postgres that does
// not sync. `pondage demo`, `pondage conformance --e2e` and the end-to-end tests stand on it.
//
// It owns: the directory, the log in it. It does not own: the stack (package stack).
package scratch
