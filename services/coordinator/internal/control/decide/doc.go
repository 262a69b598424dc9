// Package decide is the pure core of the coordinator's control loop (DESIGN §11): what becomes of a stream.
//
// It owns: what an action of a user does to a stream (Accept), and the next step toward what is wanted, given the
// stream's row and what the nodes report (Step). It does not own: the table of stream states (core internal/task, which
// it imports), doing the step (package control), where a task is placed (package placement), the clock.
//
// Step is level-triggered and total: it looks at facts, never at history, and names exactly one thing to do. The shell
// does it as one guarded step and asks again; doing nothing, or doing it twice, is harmless. That is why no order of
// effects is promised here: there is one effect at a time.
//
// Who wins when several things are due: drop > stop > named failure > reset > everything else.
//
// Start reading at Step. Scripts: testdata/.
package decide
