package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// Do is the one thing that a Decision asks for.
type Do uint8

// The things to do.
const (
	// Wait: nothing can be done now; Why says what for. Look again at At (0: only when something changes).
	Wait Do = iota
	// EnsureTopics: make and check the stream's topics, outside the metastore.
	EnsureTopics
	// DeleteTopics: delete the stream's topics, outside the metastore.
	DeleteTopics
	// Place: raise the stage and write its placement.
	Place
	// Advance: the tasks have come to Event; write the state that it leads to.
	Advance
	// Restage: the present stage is over; a new one is due. Counted ones count toward MaxRestarts.
	Restage
	// Fail: write the state failed with Cause.
	Fail
	// FallBack: what the stage restores is lost; go back to an older checkpoint where that is exact, fail otherwise.
	FallBack
	// DeleteRow: delete the stream's row; nothing of it is left elsewhere.
	DeleteRow
)

var doNames = [...]string{"wait", "ensure-topics", "delete-topics", "place", "advance", "restage", "fail", "fall-back", "delete-row"}

// String returns the name used in scripts and logs.
func (d Do) String() string { return doNames[d] }

// Decision is the next step for a stream.
type Decision struct {
	Do      Do
	Event   task.StreamEvent // Advance
	Counted bool             // Restage
	Cause   *Cause           // Restage, Fail
	Why     string           // Wait
	At      ident.MonoMs     // Wait
}

// The codes that Step itself gives as causes.
const (
	CodeStartTimeout    = "start_timeout"
	CodeNodeRestarted   = "node_restarted"
	CodeTooManyRestarts = "too_many_restarts"
)

// CodeDiskFull is the cause of a task whose windows need more than memory and find no room on disk, and what a task says that
// waits for room.
const CodeDiskFull = "disk_full"

// named are the causes that repeating cannot cure: the stream fails at once, with the name (DESIGN §4, §9).
var named = map[string]bool{
	"source_topic_recreated": true,
	"source_offsets_lost":    true,
	"source_corrupt":         true,
	"topic_unknown":          true,
	"not_authorized":         true,
	"record_too_large":       true,
	"kafka_request_refused":  true,
	"unsupported_version":    true,
	"topic_settings_differ":  true,
	"target_mismatch":        true,
	"plan_invalid":           true,
	"sink_went_back":         true,
	"results_lost":           true,
	"checkpoint_lost":        true,
	"state_mismatch":         true,
}

// lost are the causes that say that the restored checkpoint cannot be read: its files are missing or damaged.
var lost = map[string]bool{
	"checkpoint_missing": true,
	"checkpoint_damaged": true,
}

// Named tells whether a cause with the code fails a stream at once.
func Named(code string) bool { return named[code] }

// Step says what to do next for a stream.
func Step(f Facts, l Limits) Decision {
	switch f.State {
	case task.StreamDropping:
		return dropping(f)
	case task.StreamStopping:
		return stopping(f)
	case task.StreamStopped, task.StreamFinished, task.StreamFailed:
		return Decision{}
	case task.StreamCreating, task.StreamRecovering:
		if f.StageDue {
			return due(f, l)
		}
	case task.StreamRunning, task.StreamPausing, task.StreamPaused:
	}
	if d, over := ended(f, l); over {
		return d
	}
	if starting(f.State) {
		return upcoming(f, l)
	}
	return working(f)
}

// dropping waits until no living node has a task of the stream, then removes the topics, then the row.
func dropping(f Facts) Decision {
	var waiting []string
	for _, t := range f.Tasks {
		if !t.told() {
			waiting = append(waiting, string(t.Node))
		}
	}
	for _, n := range f.Holders {
		waiting = append(waiting, string(n))
	}
	switch {
	case len(waiting) > 0:
		return Decision{Why: "tasks are ending on " + list(waiting)}
	case f.Topics.Done:
		return Decision{Do: DeleteRow}
	}
	return Decision{Do: DeleteTopics, Cause: f.Topics.Err}
}

func stopping(f Facts) Decision {
	var waiting []string
	for _, t := range f.Tasks {
		if !t.settled() {
			waiting = append(waiting, t.Task.String())
		}
	}
	if len(waiting) > 0 {
		return Decision{Why: "tasks are ending: " + list(waiting)}
	}
	return Decision{Do: Advance, Event: task.StreamAllStopped}
}

// due places the stage that is due: after its back-off, when the topics are right and the owners are there.
func due(f Facts, l Limits) Decision {
	if at := f.DueSince + l.Backoff(f.Restarts); f.Now < at {
		return Decision{Why: "waiting before the next restart", At: at}
	}
	if f.Topics.Err != nil && f.Topics.Final {
		return Decision{Do: Fail, Cause: f.Topics.Err}
	}
	switch {
	case f.Unplaced:
		return Decision{Why: "no node has registered for its vgroups yet"}
	case len(f.Absent) > 0:
		return Decision{Why: "waiting for " + list(texts(f.Absent)) + " to come back"}
	case !f.Topics.Done:
		return Decision{Do: EnsureTopics, Cause: f.Topics.Err}
	}
	return Decision{Do: Place}
}

// ended looks for reasons that end the stage: a named failure of a task first, then a dead instance, then another
// failure or a request to reset. A request is for a reset whatever its code: what cannot go on, its task reports failed.
func ended(f Facts, l Limits) (Decision, bool) {
	var failed *Cause
	for _, t := range f.Tasks {
		if t.Report != task.Failed || t.Cause == nil {
			continue
		}
		if lost[t.Cause.Code] {
			return Decision{Do: FallBack, Cause: t.Cause}, true
		}
		if Named(t.Cause.Code) {
			return Decision{Do: Fail, Cause: t.Cause}, true
		}
		if failed == nil {
			failed = t.Cause
		}
	}
	for _, t := range f.Tasks {
		if t.Life == Gone {
			return Decision{Do: Restage, Cause: &Cause{CodeNodeRestarted,
				fmt.Sprintf("node %s ended or was started again: its tasks are dead", t.Node)}}, true
		}
	}
	if failed == nil {
		failed = f.ResetAsked
	}
	if failed == nil {
		return Decision{}, false
	}
	return restage(f, l, failed), true
}

// restage is a counted reset, or the failure of the stream when there were too many. While the target of an output is away, or a
// disk is full, no checkpoint gets complete, so that restarts add up which nobody is to blame for: then there are never too many
// (DESIGN §4, I12).
func restage(f Facts, l Limits, c *Cause) Decision {
	if f.Restarts >= l.MaxRestarts {
		if slices.ContainsFunc(f.Tasks, waits) {
			return Decision{Do: Restage, Cause: c}
		}
		return Decision{Do: Fail, Cause: &Cause{CodeTooManyRestarts,
			fmt.Sprintf("%d restarts did not help; the last cause was %s: %s", f.Restarts, c.Code, c.Message)}}
	}
	return Decision{Do: Restage, Counted: true, Cause: c}
}

// waits tells whether the task cannot go on before something outside of the stream is mended.
func waits(t TaskFact) bool {
	return t.SinkAway || t.DiskFull || t.Report == task.Failed && t.Cause != nil && t.Cause.Code == CodeDiskFull
}

// upcoming waits until every task has been ready in the stage.
func upcoming(f Facts, l Limits) Decision {
	var missing, silent []string
	for _, t := range f.Tasks {
		if !Ready(t.Report) {
			missing = append(missing, t.Task.String())
			if t.Life == Silent {
				silent = append(silent, string(t.Node))
			}
		}
	}
	switch {
	case len(missing) == 0:
		return Decision{Do: Advance, Event: task.StreamAllReady}
	case len(silent) > 0: // no fault of the start: its tasks are waited for like those of a running stage
		return Decision{Why: "nothing heard from " + list(silent)}
	case f.Now >= f.StageBegun+l.StartTimeout:
		return restage(f, l, &Cause{CodeStartTimeout,
			fmt.Sprintf("not ready after %d s: %s", l.StartTimeout/1000, list(missing))})
	}
	return Decision{Why: "starting: " + list(missing), At: f.StageBegun + l.StartTimeout}
}

// working looks after a stage that is ready.
func working(f Facts) Decision {
	finished, paused := len(f.Tasks) > 0, true
	var silent []string
	for _, t := range f.Tasks {
		finished = finished && t.Report == task.Finished
		if t.Task.Level == ident.LevelSource {
			paused = paused && t.Acked && (t.Report == task.Paused || t.Report == task.Finished)
		}
		if t.Life == Silent {
			silent = append(silent, string(t.Node))
		}
	}
	switch {
	case finished && f.Concluded && f.State != task.StreamPaused: // a paused stream finishes when it goes on
		return Decision{Do: Advance, Event: task.StreamAllFinished}
	case f.State == task.StreamPausing && paused:
		return Decision{Do: Advance, Event: task.StreamAllPaused}
	case finished && f.State == task.StreamRunning:
		return Decision{Why: "its last checkpoint"}
	case len(silent) > 0:
		return Decision{Why: "nothing heard from " + list(silent)}
	case f.State == task.StreamPausing:
		return Decision{Why: "sources are pausing"}
	}
	return Decision{}
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// list joins names, each once, and cuts a long list.
func list(names []string) string {
	const shown = 8 // enough to know where to look
	var once []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			once = append(once, n)
		}
	}
	if len(once) > shown {
		return strings.Join(once[:shown], ", ") + fmt.Sprintf(" and %d more", len(once)-shown)
	}
	return strings.Join(once, ", ")
}
