// Package align is a task's side of the checkpoints of its stage (DESIGN §§5, 7): from the coordinator's request, or the
// first trigger, to the verdict and what follows from it. It is pure; the worker's task shells and the simulation drive it.
//
// It owns: which checkpoint is being taken and for how long, when its inputs open again without it, which triggers are
// asked for, what is reported and how often, what is kept until the verdict, when sinks commit. It does not own: closed
// inputs and what is held (dispatch.Receiver), numbers and order of triggers (dispatch.Sender), what a state is, files,
// manifests, sinks, who decides that a checkpoint is complete (the coordinator).
//
// # A checkpoint of a task
//
//	source task   Requested ───────────────────────────────┐
//	receiver      Began → TriggerIn … → AllIn ─────────────┤ Flush, Freeze, Forward, Write, OpenInputs
//	both                                                   └→ Written → Report → Settled → Commit | Discard
//
// # Invariants
//
// A checkpoint is frozen at most once, and only between all triggers and the opening of the inputs. One that was reported
// done is never reported failed, and the other way round. An id that was answered, settled or overtaken is never taken
// again. Nothing is decided here about one that was reported done: what it consists of is kept until the verdict, or until
// the stage ends with the Core. Verdicts only rise within a stage; those of another stage are void. A sink's Commit is only
// for a checkpoint that is complete, one at a time, in rising order, until it is Committed.
//
// The data plane never waits for the coordinator: at the end of the time that came with the request or the trigger, by the
// task's own monotonic clock, a task that still aligns opens its inputs, notes the id as failed and goes on.
//
// A higher id fails the one under way: the coordinator begins none before the one before it is settled, so the verdict is
// on its way. Only a request for another one while this task's part is under way is refused: then it was never begun here.
//
// # Order of effects
//
// Effects are obeyed in the order returned, and all effects of a step before the next step: events that come out of
// obeying them wait. OpenInputs and Settle come last, since what they release may bring the next checkpoint's trigger;
// Enter comes before the Report, so that who hears of the report finds the state.
//
// The shell's loop:
//
//	for len(events) > 0 {
//		for _, f := range c.Step(take(&events)) { obey(f) } // may append to events
//	}
//
// Flush: a source flushes its partials to the edge or the chained sinks, a receiver settles what has changed: nothing that
// the state counts as done is still to be sent on. Freeze: the trigger passes the chained sinks, then the state is
// frozen; what comes out shares nothing that the task changes later. Forward: dispatch.Control to every destination.
//
// dispatch.AlignmentFailed needs no event here: the Began of the higher checkpoint follows it.
//
// Decisions: a part that is being written when its time is over is failed like one that aligns, so that it does not keep a
// place in the node's asynchronous work for a checkpoint that is over; a request refused once is refused again, although
// the task may be ready by then; an answer about a trigger fails the checkpoint only when it cannot come any more.
//
// Imports: ident and the core task, whose events Enter names. Start reading at Core.Step. Scripts: testdata/.
package align
