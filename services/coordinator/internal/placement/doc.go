// Package placement decides which node owns which vgroup and where the tasks of a stage run (DESIGN §1, §11). It is
// pure: the same input gives the same placement on every coordinator.
//
// It owns: the even spread of vgroups over nodes, and tasks following their vgroup's owner. It does not own: when a
// placement is made (package control), which tasks a stream has (internal/plan), writing it (the metastore).
//
// Invariants: a vgroup that has an owner keeps it (moves come with checkpoints); after Fill no two of the given nodes
// differ by more than one vgroup unless earlier owners already did; every task of a vgroup runs where its owner is.
package placement
