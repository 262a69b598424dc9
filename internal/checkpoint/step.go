package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/ident"
)

// Do is the one thing that a Decision asks for.
type Do uint8

// The things to do.
const (
	// Wait: for reports; look again at At.
	Wait Do = iota
	// Request: ask the tasks of Ask for their parts, with LeftMs; again until each has answered.
	Request
	// Complete: write that it is complete, under the locks of DESIGN §7.6. Its outcome may be unknown: then the facts are read again.
	Complete
	// Fail: write that it has failed, with Code and Reason; Alert tells whether the stream's owner is to be told.
	Fail
)

var doNames = [...]string{"wait", "request", "complete", "fail"}

// String returns the name used in scripts and logs.
func (d Do) String() string { return doNames[d] }

// Decision is the next step of a running checkpoint.
type Decision struct {
	Do     Do
	Ask    []ident.Task
	LeftMs ident.MonoMs
	Code   string
	Reason string
	Alert  bool
	At     ident.MonoMs
}

// The codes of failures that no task has reported.
const (
	CodeTimeout   = "timeout"
	CodeNodeEnded = "node_restarted"
)

// Step says what to do next for the stream's running checkpoint.
func Step(s Stream, now ident.MonoMs) Decision {
	r := s.Running
	end := r.Began + s.Settings.TimeoutMs
	var ask, missing []ident.Task
	for _, p := range r.Parts {
		switch {
		case p.Failed != "":
			return s.fail(p.Code, fmt.Sprintf("%s: %s", p.Task, p.Failed))
		case p.Done:
			continue
		case p.Gone:
			// The reset that follows does the same under the same locks; whoever comes first.
			return s.fail(CodeNodeEnded, fmt.Sprintf("%s: node %s has ended", p.Task, p.Node))
		case p.Asked && !p.Taken:
			ask = append(ask, p.Task)
		}
		missing = append(missing, p.Task)
	}
	switch {
	case len(missing) == 0:
		return Decision{Do: Complete} // also when its time is over by now: every part is durable
	case now >= end:
		return s.fail(CodeTimeout, "its time is over; nothing has come from "+list(missing))
	case len(ask) > 0:
		return Decision{Do: Request, Ask: ask, LeftMs: end - now, At: end}
	}
	return Decision{At: end}
}

func (s Stream) fail(code, why string) Decision {
	return Decision{Do: Fail, Code: code, Reason: why, Alert: s.Settings.MaxFailed > 0 && (s.FailedInRow+1)%s.Settings.MaxFailed == 0}
}

func list(tasks []ident.Task) string {
	const most = 5 // enough to see where it hangs
	var names []string
	for _, t := range tasks[:min(most, len(tasks))] {
		names = append(names, t.String())
	}
	if n := len(tasks) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// Kept is a complete checkpoint of a stream.
type Kept struct {
	ID    ident.CheckpointID
	Saved bool // a savepoint names it
}

// Drop says which complete checkpoints may go: all but the newest retain and those that savepoints name. The one that the
// present stage began with stays while it is among the newest: a reset goes to the newest, so it needs no more.
func Drop(complete []Kept, retain int) []ident.CheckpointID {
	sorted := slices.Clone(complete)
	slices.SortFunc(sorted, func(a, b Kept) int { return int(b.ID - a.ID) })
	var out []ident.CheckpointID
	for i, k := range sorted {
		if i >= max(retain, 1) && !k.Saved {
			out = append(out, k.ID)
		}
	}
	slices.Sort(out)
	return out
}
