// Package stage runs one stage of one stream on this node: it understands the order, gives every task of the placement
// that is this node's what it needs, takes the handshake, and starts the tasks (DESIGN §§1, 4, 5).
//
// It owns: the bring-up of a stage, in the order below, the outputs and the late and dead-letter topics of its tasks, the
// deletion of consumed edge records, the words in which a node reports its tasks. It does not own: what tasks do (package
// task), whether a stage may run and which partitions the source has (the order says so), the connections (connect).
//
// Order of a bring-up, each step repeated while the outside does not answer:
//  1. the plan is built from the order's specs; a fault is the end of the tasks;
//  2. the stage is made known to the exchange, so that early calls of others wait instead of failing;
//  3. receivers take the end of their edge partition as their position, then they are ready and run;
//  4. sources ask all nodes of their receivers until those are ready; only then anything is sent;
//  5. sources run: each is ready now, since all its downstreams are.
//
// What changes within a stage comes as a later order (Run.Update): addresses, pause and resume of the sources, further
// partitions of the source for a task that is here.
//
// Edges are scratch: what an older stage left behind lies below the receivers' positions, or carries its stage.
//
// Goroutines: the bring-up is one, each task is one, the housekeeping is one; End waits for all. What the bring-up has
// opened is closed by End afterwards, whatever step it had come to; what a task has is the task's to close.
//
// Start reading at Run.bringUp.
package stage
