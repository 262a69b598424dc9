// Package devstack runs what Pondage needs beside itself, for `pondage dev` and for tests: a Kafka-compatible broker in
// this process with its log on disk, and a private Postgres (DESIGN §15).
//
// It owns: the life of the broker and of the Postgres process, the lock on a data directory, free ports. It does not own:
// the node's instance counter (the worker's), topics, schemas, or what runs on top.
//
// Both are for one machine, listen on 127.0.0.1 only and survive a restart, also after a kill, with their data, Postgres
// with its port too. While its disk is full the broker refuses producers and says why; nothing need be restarted. Each
// holds a lock on its directory, so that two processes never write one. Postgres refuses to run as root: there it runs as
// the user postgres, else nobody, who owns its data. It dies with this process. Errors say what to do.
//
// Start reading at StartBroker and StartPostgres. Tests use the packages testkafka and testpg below.
package devstack
