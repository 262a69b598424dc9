// Package tablehash says where a table belongs: the hash of its name, the vgroup that owns the hash, the canonical
// encoding of a group key, the group's id and the name of its output subtable (DESIGN §3).
//
// It owns: these five and their text and byte forms. It does not own: which columns are the group keys (package plan),
// what is kept for a group (package window), what a vgroup is placed on (the coordinator).
//
// Invariants:
//   - A table's hash, a key's encoding and a group's name never change: names of results and the placement of state
//     hang on them. A new naming rule is a new NamingVersion; a stream keeps the one it was created with.
//   - The encoding of a key is total and self-delimiting: two rows have equal bytes if and only if they are the same
//     group. null is not the empty string, all NaNs are one value, −0 is 0 (as in the unique index of the Postgres
//     sink, where the two are equal), a number and the same number of another type differ.
//   - The group id names a group, the encoding identifies it: two groups whose ids collide stay two groups.
//
// Everything here is a pure function but Cache and Claims, which belong to one goroutine.
//
// Start reading at Sum, then AppendKey, then Namer.
package tablehash
