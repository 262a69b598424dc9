package explain

import (
	"fmt"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/window"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// maxWindows bounds the windows that are listed: sliding ones of a time may be many thousands.
const maxWindows = 100

// The states of a window, from the one that decides for all nodes to the one that decides least.
const (
	stateOpen    = "open"
	stateEmitted = "emitted" // and open still: the trigger is at_once
	stateEmpty   = "empty"
	stateClosed  = "closed"
)

// weight orders the states: a window is open if it is on any node.
var weight = map[string]int{stateOpen: 3, stateEmitted: 2, stateEmpty: 1, stateClosed: 0}

// windows explains the windows that hold a time, by the receiving tasks of this node and their lowest watermark.
func (q *question) windows(ts, lowest ident.EventMs, receivers []task.Report) []api.ExplainedWindow {
	names, err := window.NewWindows(*q.stream.Plan.Window)
	if err != nil {
		panic("explain: the window of a plan: " + err.Error()) // the plan has made it before
	}
	out := []api.ExplainedWindow{}
	for _, start := range names.AppendStarts(nil, ts) {
		if len(out) == maxWindows {
			break
		}
		w := q.window(start, names.End(start), lowest, receivers)
		w.Start, w.End = time.UnixMilli(int64(start)).UTC(), time.UnixMilli(int64(names.End(start))).UTC()
		out = append(out, w)
	}
	return out
}

func (q *question) window(start, end, lowest ident.EventMs, receivers []task.Report) api.ExplainedWindow {
	rows, groups, listed := int64(0), 0, true
	var partial *time.Time
	for _, r := range receivers {
		found := false
		for _, o := range r.Progress.Windows {
			if o.Start == start {
				rows, groups, found = rows+o.Rows, groups+o.Groups, true
				if o.Partial {
					partial = later(partial, eventTime(o.PartialSince))
				}
			}
		}
		// A report lists the windows that close first, so one that closes later than all of a full list may be there.
		if n := len(r.Progress.Windows); !found && n > 0 && r.Progress.Windows[n-1].End < end && r.Progress.Open > n {
			listed = false
		}
	}
	switch {
	case lowest >= end:
		return api.ExplainedWindow{State: stateClosed, Reason: "the watermark has passed its end"}
	case rows > 0 && q.stream.Plan.Trigger == spec.TriggerAtOnce:
		return api.ExplainedWindow{State: stateEmitted, PartialSince: partial, Reason: fmt.Sprintf("%d rows of %d groups, told at once; rows may still come until the watermark passes its end", rows, groups) + whyPartial(partial)}
	case rows > 0:
		return api.ExplainedWindow{State: stateOpen, PartialSince: partial, Reason: fmt.Sprintf("%d rows of %d groups; it closes when the watermark, now %s, reaches its end", rows, groups, textOf(lowest)) + whyPartial(partial)}
	case !listed:
		return api.ExplainedWindow{State: stateOpen, Reason: "others close before it; rows of it may be there"}
	}
	return api.ExplainedWindow{State: stateEmpty, Reason: "no row of it is there"}
}

// whyPartial says what a window lacks.
func whyPartial(since *time.Time) string {
	if since == nil {
		return ""
	}
	return "; an aggregate that came into the query at " + since.Format("2006-01-02T15:04:05.000Z") + " has no value for it"
}

// later is the later one of two times, either of which may be missing.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}
