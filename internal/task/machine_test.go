package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/ident"
)

// allowed is DESIGN §11 written down once more, by hand: "state event → states entered". What is not here is refused.
const allowed = `
uninit init → ready
uninit init_scan_history → scan_history
uninit pause →
uninit halt →
scan_history scan_history_done → ready
scan_history gen_checkpoint → checkpointing
scan_history pause → paused
ready gen_checkpoint → checkpointing
ready pause → paused
ready halt → halted
ready bound_reached → finished
checkpointing checkpoint_done → ready
checkpointing checkpoint_failed → ready
checkpointing pause →
checkpointing halt →
checkpointing bound_reached →
halted gen_checkpoint → checkpointing
halted pause →
halted resume → ready
paused gen_checkpoint → checkpointing
paused halt → halted
paused resume → ready
stopped start → uninit
finished gen_checkpoint → checkpointing
dropping drop → dropping
`

// everywhere are the events that all states but those named take.
var everywhere = []struct {
	event  Event
	to     State
	except []State
}{
	{Reset, Uninit, []State{Dropping}},
	{Stop, Stopped, []State{Dropping}},
	{Drop, Dropping, nil},
	{Fail, Failed, []State{Stopped, Failed, Dropping}},
}

// at returns a task in the state, as it gets there from ready where there is a choice.
func at(s State) Machine {
	way := map[State][]Event{
		Uninit: {}, ScanHistory: {InitScanHistory}, Ready: {Init}, Checkpointing: {Init, GenCheckpoint}, Halted: {Init, Halt},
		Paused: {Init, Pause}, Stopped: {Stop}, Finished: {Init, BoundReached}, Failed: {Fail}, Dropping: {Drop},
	}
	m := NewMachine(1)
	for _, e := range way[s] {
		if _, err := m.Step(Change{Event: e}); err != nil {
			panic(err)
		}
	}
	return m
}

func TestEveryPairOfStateAndEvent(t *testing.T) {
	t.Parallel()
	want := map[string][]State{}
	for line := range strings.Lines(strings.TrimSpace(allowed)) {
		pair, to, _ := strings.Cut(strings.TrimSpace(line), " →")
		want[pair] = nil
		if to = strings.TrimSpace(to); to != "" {
			want[pair] = []State{State(to)}
		}
	}
	for _, rule := range everywhere {
		for _, s := range States() {
			if !slices.Contains(rule.except, s) {
				want[string(s)+" "+string(rule.event)] = []State{rule.to}
			}
		}
	}
	for _, s := range States() {
		for _, e := range Events() {
			m := at(s)
			if m.State() != s {
				t.Fatalf("at(%s) is in state %s", s, m.State())
			}
			entered, err := m.Step(Change{Event: e, Stage: 2})
			to, ok := want[string(s)+" "+string(e)]
			if !ok {
				refused := new(RefusedError)
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), string(s)) || !strings.Contains(err.Error(), string(e)) || m.State() != s {
					t.Errorf("%s in %s: entered %v, error %v, now %s; want a refusal with both names and no change", e, s, entered, err, m.State())
				}
				continue
			}
			if err != nil || !slices.Equal(entered, to) {
				t.Errorf("%s in %s: entered %v, error %v; want %v", e, s, entered, err, to)
			}
		}
	}
}

func TestResetAndStartNeedAHigherStage(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		for _, e := range []Event{Reset, Start} {
			for _, stage := range []ident.Stage{0, 1} {
				m := at(s)
				if _, err := m.Step(Change{Event: e, Stage: stage}); err == nil || m.State() != s {
					t.Errorf("%s to stage %d in %s at stage 1: %v, now %s; want a refusal", e, stage, s, err, m.State())
				}
			}
		}
	}
	m := at(Ready)
	if _, err := m.Step(Change{Event: Reset, Stage: 5}); err != nil || m.Stage() != 5 {
		t.Errorf("reset to stage 5: %v, stage %d", err, m.Stage())
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, events, entered string }{
		{"a pause in uninit is kept until ready", "pause init", "ready paused"},
		{"a halt in uninit is kept until ready", "halt init", "ready halted"},
		{"both: paused first, and halted from there", "halt pause init", "ready paused halted"},
		{"a pause waits for the checkpoint", "init gen_checkpoint pause checkpoint_done", "ready checkpointing ready paused"},
		{"and for one that fails", "init gen_checkpoint pause checkpoint_failed resume", "ready checkpointing ready paused ready"},
		{"a pause in halted is kept until ready", "init halt pause resume resume", "ready halted ready paused ready"},
		{"history: pause leads back to it", "init_scan_history pause resume", "scan_history paused scan_history"},
		{"history: so does a checkpoint within the pause", "init_scan_history pause gen_checkpoint checkpoint_done resume", "scan_history paused checkpointing paused scan_history"},
		{"history: a kept pause need not wait for its end", "init_scan_history gen_checkpoint pause checkpoint_done", "scan_history checkpointing scan_history paused"},
		{"halted, checkpoint, halted", "init halt gen_checkpoint checkpoint_done resume", "ready halted checkpointing halted ready"},
		{"finished, checkpoint, finished", "init bound_reached gen_checkpoint checkpoint_done", "ready finished checkpointing finished"},
		{"a bound reached during a checkpoint", "init gen_checkpoint bound_reached checkpoint_done", "ready checkpointing ready finished"},
		{"a bound counts before a pause", "init gen_checkpoint pause bound_reached checkpoint_done", "ready checkpointing ready finished"},
		{"resume takes back what was kept", "pause resume init", "ready"},
		{"stop forgets what was kept", "init gen_checkpoint pause stop start init", "ready checkpointing stopped uninit ready"},
		{"reset forgets what was kept", "pause reset init", "uninit ready"},
	} {
		m := NewMachine(1)
		var got []string
		for i, e := range strings.Fields(c.events) {
			entered, err := m.Step(Change{Event: Event(e), Stage: ident.Stage(i + 2)})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, s := range entered {
				got = append(got, string(s))
			}
		}
		if g := strings.Join(got, " "); g != c.entered {
			t.Errorf("%s: %s entered %q, want %q", c.name, c.events, g, c.entered)
		}
	}
}

func TestKeptIsVisible(t *testing.T) {
	t.Parallel()
	m := at(Checkpointing)
	for _, e := range []Event{Pause, Halt, BoundReached} {
		if _, err := m.Step(Change{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(m.Kept()); got != "[pause halt bound_reached]" {
		t.Errorf("kept %s", got)
	}
}

func TestResumeWithNothingKeptIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []State{Uninit, Checkpointing} {
		m := at(s)
		if _, err := m.Step(Change{Event: Resume}); err == nil || !strings.Contains(err.Error(), "nothing was kept") {
			t.Errorf("resume in %s: %v", s, err)
		}
	}
}
