package failpoint

import (
	"errors"
	"syscall"
	"time"
)

// Do is a kind of action.
type Do string

// The kinds of actions; the empty one does nothing.
const (
	DoDie   Do = "die"
	DoExit  Do = "exit"
	DoError Do = "error"
	DoSleep Do = "sleep"
	DoWait  Do = "wait"
	DoOn    Do = "on"
)

// Action is what a point does at a hit.
type Action struct {
	Do     Do
	Status int           // of DoExit
	Err    error         // of DoError
	For    time.Duration // of DoSleep
	File   string        // of DoWait
}

// ErrInjected is the error that DoError wraps where its text names none of the system.
var ErrInjected = errors.New("injected by a failpoint")

// system are the errors that code tells apart, by the names of the manual.
var system = map[string]error{"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "EDQUOT": syscall.EDQUOT}
