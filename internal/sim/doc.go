// Package sim runs a stream on virtual time: source tasks, receiving tasks, their edge, the coordinator's checkpoints and
// resets, a store and a sink in memory, all through the cores that the services run (DESIGN §16, I1 to I8).
//
// A seed decides everything: who does something next, how many records a fetch brings, which requests are repeated, which
// words between coordinator and tasks are lost, late or doubled, and when everything dies and goes on from the newest
// complete checkpoint. What a dead stage had under way may still reach the log afterwards. At the end the sink is compared
// with a batch computation over the same records.
//
// It owns: the world around the cores, and its faults. It does not own: any rule of the product; where a shell would have
// to decide, the world does what the cores' doc.go asks of shells. Sabotage breaks one rule on purpose, to show that the
// comparison would tell.
//
// Start reading at Run, then world.go.
package sim
