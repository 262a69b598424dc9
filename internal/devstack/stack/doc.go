// Package stack runs a whole Pondage in one process: the embedded broker, a private Postgres, a coordinator and a node
// (DESIGN §15). `pondage dev`, `pondage demo`, `pondage bench` and the end-to-end tests stand on it.
//
// It owns: the order in which the parts begin and end, and where each keeps its data below the one directory. It does not
// own: the parts. Kafka and Postgres are taken from outside where the configuration names them.
//
// On disk, below the data directory: kafka/ (the broker's log), postgres/, node/ (the worker's and snapshotter's). All of it
// survives a restart. One process at a time: each part locks its own directory.
package stack
