// Package notify sends window events to a webhook (DESIGN §9; docs/webhooks.md has the form that receivers see).
//
// It owns: the id of an event, its JSON form, the body of a request and its signature, the request, and what an answer
// means. It does not own: the queue, retries, and what becomes of an event that is refused (package sink), nor when a window
// opens or closes (package window).
//
// Invariants: an event has the same id and key whenever it is sent, by whatever stage; no error shows the address, which may
// hold a secret; a redirect is not followed.
//
// Start reading at Form.Append, then Hook.Send.
package notify
