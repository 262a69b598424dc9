// Package task holds the states of a task and of a stream, and the precedence of the orders that change them, as
// tables (DESIGN §11).
//
// It owns: which event is allowed in which state and where it leads, what is kept for later, who wins when two long
// actions on a stream meet. It does not own: what has to be done in a state (the worker's tasks, the coordinator's
// control), the stage and the wanted state as stored facts (the metastore; its CHECK constraints list the same names).
//
// Invariants: a pair that is not in the table is refused with both names and changes nothing; a reset or start needs a
// higher stage; dropping is never left; a kept pause or halt takes effect as soon as a state is reached that takes it,
// before any other event.
//
// Order of effects. Step returns the states entered, in order. A shell obeys one before the next: entering ready with a
// kept pause is [ready paused], so what waits for ready hears of it.
//
// An example:
//
//	m := task.NewMachine(order.Stage)
//	…
//	entered, err := m.Step(task.Change{Event: task.Init})
//	if err != nil {
//		return fmt.Errorf("task %s: %w", id, err) // *RefusedError
//	}
//	for _, s := range entered {
//		enter(s)
//	}
//
// Decisions beyond DESIGN §11: `fail` leads from every living state to failed; a stop in dropping is refused, because a
// drop outranks it; stop in stopped and drop in dropping are allowed, because orders are repeated; a bound reached while
// checkpointing is kept like a pause, since a source reads on while its checkpoint is written; resume takes back a kept
// pause or halt; a reset forgets what was kept, since the orders of the new stage say again what is wanted.
//
// docs/states.md is made from the tables (go test -run Diagram -update). Start reading at tasks.go.
package task
