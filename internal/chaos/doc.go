// Package chaos is `pondage chaos`: real processes, faults, and a comparison of every result with a batch computation.
//
// A run starts Postgres, a broker (the embedded one as a process of its own, or a real Kafka), two coordinators and three
// workers in a fresh directory, declares streams with and without windows into all kinds of outputs, writes records at a
// steady pace and meanwhile does to the processes what the seed says. Then it heals everything, closes all windows by a last
// record in each partition, waits until the results are there, and compares what lies in Postgres and Kafka with what the records give: lost, duplicated, changed.
//
// It owns: the schedule of a seed (schedule.go, pure), the records (records.go, pure), the answer (answer.go, pure: it
// shares no code with what it judges), the streams (workload.go), the processes and what is done to them, the comparison.
// It does not own: how a role is started (the command line), Postgres and the embedded broker (internal/devstack).
//
// Invariants: the same seed and configuration give the same faults at the same times and the same records. Nothing is
// compared before every fault is over. The answer is computed from what lies in the source topic: a record that a producer's
// retry has doubled counts for both sides. Whatever happens, every process is killed at the end, also
// one that is stopped; if the controller is killed, its children die with it.
//
// Goroutines: one a process (supervisor), one a fault, one that writes records, one that watches. They share the cluster, whose processes
// have locks of their own.
//
// Start reading at run.do, then Schedule and judge.
package chaos
