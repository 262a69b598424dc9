// Package exchange is what the nodes of a cluster tell each other about the edges between their tasks: credits and the
// check-downstream handshake (DESIGN §5). The blocks themselves go through Kafka.
//
// It owns: the node's side of both protocols for all its tasks (the shells of dispatch.Credits, dispatch.Readiness and
// dispatch.Handshake), and which of the node's senders an incoming credit belongs to. It does not own: HTTP (the Peers
// seam and the worker's API), who runs where (placements come with the orders).
//
// Bounds: what is kept of another node (its address, notices for it) ends with the last stream whose placement names it.
//
// Order of effects: an AskOrders is obeyed before a Reply of the same step. Credits for tasks of this very node take the
// same way without the network.
//
// Goroutines: Run is one; each post and each call is one, with a deadline. All methods may be called from any goroutine;
// the cores are behind one mutex that is never held across I/O.
//
// Start reading at Exchange.Run, then handshake.go.
package exchange
