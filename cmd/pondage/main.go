// Command pondage is the one binary: every role and every tool (DESIGN §2).
//
// It owns: the process: its streams, its signals, its exit status. It does not own: any command (internal/cli).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // zone rules come from the binary, so that windows are the same on every machine (DESIGN §15)

	"golang.org/x/term"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
	"github.com/pondage/pondage/internal/cli/serve"
)

func main() {
	os.Exit(cli.Run(untilSignal(), shell(), os.Args[1:], commands.All()...))
}

// shell is that of the process.
func shell() cli.Shell {
	sh := cli.Shell{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Interactive: term.IsTerminal(int(os.Stderr.Fd()))}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		sh.Width = width
	}
	return sh
}

// untilSignal ends with the first SIGTERM or SIGINT. A second one, or the end of the time for closing, ends the process.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		select {
		case s := <-signals:
			fmt.Fprintln(os.Stderr, "pondage:", s, "again: ended without closing")
		case <-time.After(serve.Grace):
			fmt.Fprintln(os.Stderr, "pondage: not closed within", serve.Grace)
		}
		os.Exit(cli.StatusFailed)
	}()
	return ctx
}
