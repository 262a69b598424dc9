// Package control is the coordinator's application layer: what the API and the nodes ask for, and the loop that makes
// it so (DESIGN §11).
//
// It owns: sources and streams as users see them, wanted states and generations, stages and placements, the orders to
// the nodes, heartbeats and what follows from them, events, the counters of streams. It does not own: HTTP (package
// httpapi calls Service through API), SQL (package store), Kafka and sinks (seams, filled in the wiring), what a
// specification means (the Planner seam, over internal/spec and internal/plan).
//
// Two halves. The requests write what is wanted: each is one guarded Update that raises the stream's generation. The
// loop is level-triggered: it reads rows and reports, asks the pure package decide what to do next, and does it as one
// guarded step; when the row changed meanwhile the step does nothing and the loop looks again. So it does not matter
// which wake-up was lost, and a restarted coordinator goes on where the rows say.
//
// Invariants:
//   - A stage is raised in the transaction that writes its placement; a (stream, stage) has one placement, ever.
//   - Only reports of the stream's present stage and of the placed instance count (I8).
//   - Nothing outside the metastore is made before its row exists, nor does a row go before what it stands for is gone.
//
// Goroutines: API methods may be called by any; the loop is one goroutine (Run); reports live in a board behind a mutex
// that is never held across I/O.
//
// Start reading at API, then loop.go, then package decide.
package control
