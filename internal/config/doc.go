// Package config holds what can be configured: one struct a role (Coordinator, Worker, Snapshotter, Node, Broker, Dev,
// and Client, Doctor and Topics of the command line), its defaults, and the way from flags, environment and file into it.
//
// It owns: the structs with a doc comment per key (docs/config.md and the flags' help are made from them), Default…,
// Validate, which reports everything that is wrong at once, and the reading of secrets. It does not own: what a value
// does; the doc comment says whose it is. No other package reads the environment or flags (archtest).
//
// A key is a path of words, kafka.tls.ca_file. It is the same word in the file (nested), in the environment
// (PONDAGE_KAFKA_TLS_CA_FILE) and as a flag (--kafka-tls-ca-file). A flag wins over the environment, that over the file,
// that over the default.
//
// Invariants: an unknown key in a file is refused with the nearest known one; a secret never leaves in a printed form.
// An unknown PONDAGE_ variable is only a warning: orchestrators set variables of that form by themselves.
//
// Start reading at Coordinator, then Loader.
package config

//go:generate go run ./gen -doc ../../docs/config.md
