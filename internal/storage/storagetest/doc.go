// Package storagetest is what every checkpoint store has to do: one suite for all of them.
//
// It owns: the promises of package storage, as tests that see a store from outside only. It does not own: kills, crashes and full disks
// (the tests of a store, with what it stands on).
//
// Start reading at Exercise.
package storagetest
