//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/pondage/pondage/internal/config"
)

// Built tells whether this program has failpoints.
const Built = true

// plan is the process's own.
var plan = load()

// load reads the plan. A process whose faults were not understood must not run as if it had none.
func load() *Plan {
	p, err := Parse(config.Failpoints())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	return p
}

// exitUsage is the status of wrong usage (INTERFACE §4).
const exitUsage = 2

// Hit does what the point is switched to. It returns the error of an error action, else nil.
func Hit(p Point) error {
	a := plan.Next(p)
	if a.Do == "" {
		return nil
	}
	say(p, a)
	switch a.Do {
	case DoDie:
		die()
	case DoExit:
		os.Exit(a.Status)
	case DoSleep:
		time.Sleep(a.For)
	case DoWait:
		return await(a.File)
	}
	return a.Err
}

// On tells whether a misbehaviour is to be done now.
func On(p Point) bool {
	on := plan.On(p)
	if on {
		say(p, Action{Do: DoOn})
	}
	return on
}

const (
	longestWait = time.Minute // whoever makes the file has died
	waitLook    = 5 * time.Millisecond
)

// await returns when the file is there.
func await(file string) error {
	for end := time.Now().Add(longestWait); time.Now().Before(end); time.Sleep(waitLook) {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: nobody made %s", ErrInjected, file)
}

// die is kill -9: nothing deferred runs, nothing buffered is written.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // the signal may reach another thread first
}

// say tells the run's log what is about to happen, in one write.
func say(p Point, a Action) { fmt.Fprintf(os.Stderr, "failpoint %s: %s\n", p, a.Do) }
