// Package archtest holds the tests of the repository's own rules: which package may import which, what a core must not
// do, that every package says what it is, and that environment variables and flags are read in one place.
//
// It owns the table of layers (layers.go), the one list of all packages. A new package is added there, with its layer;
// an exception is a line in the table with its reason. It has no code that the product runs.
package archtest
