// Package readiness says whether a worker can do its work, check by check (DESIGN §12, trap T19).
//
// It owns: which checks there are, and what each says to do. It does not own: HTTP, or what is checked.
//
// Checks: coordinator (registered, and the last beat was answered), kafka (a broker of the cluster answers), sources (every
// reader that has something to read makes progress: progress is watched, not the connection), sinks (no output of a task
// here is being retried).
//
// Start reading at Checks.
package readiness
