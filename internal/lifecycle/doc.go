// Package lifecycle holds the one life cycle of everything that runs: New → Starting → Running → Stopping → Terminated
// or Failed.
//
// It owns: Service, which runs three functions through these states, and Group, which starts services in the order of
// their dependencies and stops them in reverse. It does not own: what a service does, logging (an observer sees every
// transition), signals (package main).
//
// Invariants: Start returns when the service is ready or has failed; Stop may be called twice, from any goroutine, in
// any state, and returns when the service has ended; a transition that is not in the table cannot happen; a service that
// ends by itself is stopped like one that was asked to.
//
// Goroutines: a running service has one, which its Run function owns.
//
// Start reading at Service.
package lifecycle
