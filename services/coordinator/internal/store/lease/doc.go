// Package lease is the pure core of the coordinator's leadership (DESIGN §11): who may lead, and until when.
//
// It owns: when a standby may take over, until when a holder may trust what it holds, when it renews and gives up. It
// does not own: the statements (package pgstore), the clock, the goroutine (package control's leader.go).
//
// The protocol. Two rows: (holder, term), changed only by a take-over, and (term, beat), raised by every renewal. A
// standby that has seen the same (term, beat) for TTL on its own monotonic clock takes over, on the condition that both
// are still what it saw. The holder trusts its lease until TTL − Margin after the *beginning* of its last successful
// attempt. Why no two lead: the standby's TTL begins when it has read the beat, which is after the renewal was written,
// which is after its attempt began; so the holder's trust ends Margin before the take-over, whatever the clocks say.
// And if a holder acts all the same (it was frozen between a check and a write), its term is refused by the metastore.
//
// Order of effects: there is at most one effect a step.
//
// Start reading at Machine.Step. Scripts: testdata/.
package lease
