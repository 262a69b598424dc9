// Package client talks to a coordinator for the command line.
//
// It owns: the token on every request, also behind a redirect to a worker; the repetition of requests that a moment may
// cure; the reading of pages, streamed rows and server-sent events; errors in the one form of a problem document. It does
// not own: paths and bodies (internal/api/coordinator, generated), what is shown (package cli).
//
// Invariants: a POST carries an Idempotency-Key, so that repeating it has one effect (DESIGN I13). The token goes to the
// coordinator and to where the coordinator redirects, nowhere else.
//
// Start reading at New and Read.
package client
