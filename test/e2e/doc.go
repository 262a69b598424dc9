// Package e2e holds the end-to-end suite: a whole Pondage, driven and judged from outside, over REST, Kafka and Postgres.
//
// It owns: the cases. Answers come from test/testdata and from internal/batch, never from the product.
//
// Most cases share one stack in this process (shared); cases that kill something have processes of their own (apart):
// the binary is built once, broker and Postgres stay with the test, coordinator and two workers come and go.
//
// With PONDAGE_E2E_KAFKA=1 or 3 the same cases run on a real Apache Kafka of so many brokers, started by the script that
// PONDAGE_KAFKA_SH names; without the script they are skipped with that reason.
//
// A case waits for conditions, with a deadline (eventually, cluster.until); none sleeps for a guessed time. Names of
// sources, streams, topics and tables are the case's own (cluster.name), so that cases run side by side.
//
// Start reading at cluster_test.go, then answers_test.go.
package e2e
