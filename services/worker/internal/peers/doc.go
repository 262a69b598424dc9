// Package peers is how this node calls the other workers of its cluster: credits and handshakes of the edges between
// their tasks (DESIGN §5), and the parts of live results and explain-window that only they have.
//
// It owns: the calls, and the translation between the words of package dispatch and those of the API, both ways: the
// serving side (package httpapi) uses the same. It does not own: retries (the cores ask again), signatures (the transport
// it is given), or what an answer means.
//
// All methods may be called from any goroutine. Every call has the deadline of its context.
//
// Start reading at Peers, then wire.go.
package peers
