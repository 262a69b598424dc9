package decide

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// TestScripts runs testdata/. A script holds the facts of one stream; `set` changes them (a value stays until it is
// changed), `task` changes or adds a placed task, `step` prints the decision.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Parallel()
		f := Facts{Intent: Intent{StreamStatus: task.StreamStatus{State: task.StreamCreating, Wanted: task.WantRunning}, StageDue: true}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for _, arg := range d.CmdArgs {
				var v string
				if len(arg.Vals) > 0 {
					v = strings.Join(arg.Vals, " ")
				}
				if d.Cmd == "set" {
					set(t, &f, arg.Key, v)
				}
			}
			if d.Cmd == "task" {
				setTask(t, &f, d)
			}
			return render(Step(f, DefaultLimits))
		})
	})
}

func set(t *testing.T, f *Facts, key, v string) {
	number := func() int64 {
		var n int64
		if _, err := fmt.Sscan(v, &n); err != nil {
			t.Fatalf("%s=%s: %v", key, v, err)
		}
		return n
	}
	cause := func() *Cause {
		if v == "" {
			return nil
		}
		return &Cause{v, "because"}
	}
	switch key {
	case "state":
		f.State = task.StreamState(v)
	case "wanted":
		f.Wanted = task.Wanted(v)
	case "stage":
		f.Stage = ident.Stage(number())
	case "due":
		f.StageDue = v == "yes"
	case "restarts":
		f.Restarts = int(number())
	case "now":
		f.Now = ident.MonoMs(number())
	case "begun":
		f.StageBegun = ident.MonoMs(number())
	case "concluded":
		f.Concluded = v == "yes"
	case "due-since":
		f.DueSince = ident.MonoMs(number())
	case "topics":
		f.Topics = Topics{Done: v == "done"}
	case "topics-error":
		f.Topics = Topics{Err: cause()}
	case "topics-final":
		f.Topics = Topics{Err: cause(), Final: true}
	case "unplaced":
		f.Unplaced = v == "yes"
	case "absent":
		f.Absent = nil
		if v != "" {
			f.Absent = []ident.NodeID{ident.NodeID(v)}
		}
	case "holder":
		f.Holders = nil
		if v != "" {
			f.Holders = []ident.NodeID{ident.NodeID(v)}
		}
	case "reset":
		f.ResetAsked = cause()
	default:
		t.Fatalf("unknown fact %s", key)
	}
}

// setTask reads "task agg-1 node=a report=ready life=gone cause=x acked=yes sink=away disk=full"; what is not named stays.
func setTask(t *testing.T, f *Facts, d *datadriven.TestData) {
	id, err := ident.ParseTask(d.CmdArgs[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for i := range f.Tasks {
		if f.Tasks[i].Task == id {
			at = i
		}
	}
	if at < 0 {
		f.Tasks = append(f.Tasks, TaskFact{Task: id, Node: "a"})
		at = len(f.Tasks) - 1
	}
	k := &f.Tasks[at]
	for _, arg := range d.CmdArgs[1:] {
		v := strings.Join(arg.Vals, " ")
		switch arg.Key {
		case "node":
			k.Node = ident.NodeID(v)
		case "report":
			k.Report = task.State(v)
		case "life":
			k.Life = map[string]Life{"alive": Alive, "silent": Silent, "gone": Gone}[v]
		case "cause":
			k.Cause = &Cause{v, "because"}
		case "sink":
			k.SinkAway = v == "away"
		case "disk":
			k.DiskFull = v == "full"
		case "acked":
			k.Acked = v == "yes"
		default:
			t.Fatalf("unknown %s", arg.Key)
		}
	}
}

func render(d Decision) string {
	var b strings.Builder
	b.WriteString(d.Do.String())
	if d.Event != "" {
		fmt.Fprintf(&b, " %s", d.Event)
	}
	if d.Counted {
		b.WriteString(" counted")
	}
	if d.Cause != nil {
		fmt.Fprintf(&b, " cause=%s (%s)", d.Cause.Code, d.Cause.Message)
	}
	if d.Why != "" {
		fmt.Fprintf(&b, ": %s", d.Why)
	}
	if d.At != 0 {
		fmt.Fprintf(&b, " until=%d", d.At)
	}
	return b.String() + "\n"
}

// TestEveryActionInEveryState prints the table that users see, so that a change of it is seen in review.
func TestEveryActionInEveryState(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata_actions", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, s := range task.StreamStates() {
			fmt.Fprintf(&b, "%s\n", s)
			for _, a := range Actions {
				before := Intent{StreamStatus: task.StreamStatus{State: s, Wanted: wantedIn(s)}}
				after, err := Accept(before, a)
				var refused *task.RefusedError
				switch {
				case errors.As(err, &refused):
					continue
				case err != nil:
					t.Fatal(err)
				case after == before:
					fmt.Fprintf(&b, "  %s: nothing\n", a)
				default:
					fmt.Fprintf(&b, "  %s: %s, wanted %s, stage due %v\n", a, after.State, after.Wanted, after.StageDue)
				}
			}
		}
		return b.String()
	})
}

func wantedIn(s task.StreamState) task.Wanted {
	switch s {
	case task.StreamPausing, task.StreamPaused:
		return task.WantPaused
	case task.StreamStopping, task.StreamStopped:
		return task.WantStopped
	}
	return task.WantRunning
}

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	t.Parallel()
	var got []ident.MonoMs
	for n := range 10 {
		got = append(got, DefaultLimits.Backoff(n))
	}
	want := "[0 250 500 1000 2000 4000 8000 16000 30000 30000]"
	if fmt.Sprint(got) != want {
		t.Fatalf("got %v, want %s", got, want)
	}
}
