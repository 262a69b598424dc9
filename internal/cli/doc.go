// Package cli is the command line of the one binary: the roles, the commands that talk to a coordinator, and the tools that
// need nothing else.
//
// It owns: which commands there are, their flags, help, output and exit status. It does not own: the environment and the
// keys of the configuration (internal/config), signals and the process (cmd/pondage), what a service does. Parts with a life
// of their own are in packages below: client (HTTP), render (output), specfile (spec and SQL files), ingest (sending
// records), doctor (checks), serve (running roles).
//
// Every command has -o table|json|yaml. What it answers goes to standard output; errors, notes and progress go to standard
// error, errors as a problem document where the output is for programs. The exit status is 0 done, 1 failed, 2 wrong usage.
//
// Commands of other packages (demo, conformance, bench, …) are given to Run; they get the same flags and statuses.
//
// File map: run, shell, usage, fault — what all commands share; one file a command; page — docs/cli.md. Start reading at Run.
package cli

//go:generate go run ./gen -page ../../docs/cli.md
