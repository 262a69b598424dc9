// Package checkpointing is what the tasks of a node share of their checkpoints (DESIGN §7): places for asynchronous parts,
// reports in batches, questions for missing triggers. It implements task.Node.
//
// It owns: how many asynchronous parts run at a time, what goes into one request to the coordinator and when, how long a
// question waits. It does not own: what a report or an answer says (packages align and task), when a report comes again
// (align.ReportEvery), the wire (Coordinator and Asker are adapters of the wiring).
//
// Reports: everything that has come within BatchWithin goes into one request, the newest report of each task. A request
// that fails is not repeated here: the tasks repeat their reports until they have heard the verdict, so a coordinator that is
// away costs nothing but time.
//
// Questions are asked one by one, with a deadline; one without an answer is asked again by its task.
//
// Goroutines: Run is the one that reports. Place, Report and Ask are called from any; Close ends the questions.
//
// Start reading at Node.
package checkpointing
