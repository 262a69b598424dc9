// Package watch tells the results of a stream as they come, as server-sent events (DESIGN §9, INTERFACE §3).
//
// It owns: the events and their form, going on behind an event that a watcher has seen, the putting together of what
// several nodes have, the change from one stage to the next. It does not own: what is kept for watchers (package live),
// the results themselves (package results), HTTP.
//
// A stream's tasks of the last level may run on several nodes. Each has the results of its vgroups. The node that is
// asked follows its own (follower) and asks each of the others for theirs (remote), with a scope that keeps those from
// asking in turn; the merger puts them into one sequence. Positions are vectors by vgroup, and a vgroup's results are on
// one node in a stage: so the place in the whole is the maximum of the parts' places, and each part goes on behind it.
//
// A watch is a row of views, one a stage. A view begins when every node has said where it stands, or after settleTime; so
// the ids of its events hold for all nodes. It ends when any of them, or the catalog, speaks of a higher stage. Events of
// a lower one are dropped.
//
// Invariants: nothing is left out in silence: what is no longer kept is a gap, a node that went away is asked again from
// the last id on. A slow watcher holds up nobody: what it does not take is dropped from the rings (live).
//
// Goroutines: one a source of a view, all ended with it; the merger is the caller's. Start reading at Service.Follow.
package watch
