// Package conformance is `pondage conformance`: the window vectors in virtual time (package vectors), or through a running
// stack.
//
// It owns: the command, and the engine that is a stack (Stack). It does not own: the vectors and their comparison.
package conformance
