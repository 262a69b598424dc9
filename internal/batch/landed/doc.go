// Package landed reads what a stream has left in its outputs, in the form that package batch compares: the rows of a Postgres
// table, the latest value of each key in a Kafka topic, the results over HTTP.
//
// It owns: reading an output to its present end. It does not own: waiting for a stream to finish, the comparison.
//
// Start reading at Postgres, Kafka and HTTP.
package landed
