// Package ident holds the identifiers, positions and times that all of Pondage speaks in, and the one place that
// builds (and parses) the names of topics and objects.
//
// It owns: distinct types for things that must not be mixed (a next offset is not a last offset, DESIGN §7, trap T22),
// the text and binary form of each id, and the names under `<cluster>.` (DESIGN §4).
// It does not own: any rule about when an id is raised; that is the metastore's (stage, generation, term) or a core's
// (msg id).
//
// Invariants: every text form parses back to the same value; no two streams' names collide.
package ident
