// Package outside fills control's seams with the things outside of the coordinator: Kafka's topics and offsets, the
// databases of results, the workers.
//
// It owns: the translation of control's questions into calls and of their errors into control's. It does not own: when
// anything is asked (package control) or how Kafka and Postgres are spoken to (packages kafka, pgtable, connect).
//
// All methods may be called from any goroutine and end by their context's deadline.
package outside
