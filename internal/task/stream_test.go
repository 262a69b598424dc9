package task

import (
	"strings"
	"testing"
)

// allowedStream is the table of stream states by hand: "state event → state", for a stream that is wanted running.
const allowedStream = `
creating pause → creating
creating resume → creating
creating all_ready → running
creating reset → recovering
running pause → pausing
running resume → running
running start → running
running all_finished → finished
running reset → recovering
recovering pause → recovering
recovering resume → recovering
recovering start → recovering
recovering all_ready → running
recovering reset → recovering
pausing pause → pausing
pausing resume → running
pausing all_paused → paused
pausing all_finished → finished
pausing reset → recovering
paused pause → paused
paused resume → running
paused reset → recovering
stopping all_stopped → stopped
stopping stop → stopping
stopped stop → stopped
stopped start → recovering
failed start → recovering
finished stop → stopping
failed stop → stopping
`

func TestEveryPairOfStreamStateAndEvent(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(allowedStream)) {
		pair, to, _ := strings.Cut(strings.TrimSpace(line), " → ")
		want[pair] = to
	}
	for _, s := range StreamStates() {
		want[string(s)+" drop"] = "dropping"
		switch s {
		case StreamCreating, StreamRunning, StreamRecovering, StreamPausing, StreamPaused:
			want[string(s)+" stop"] = "stopping"
			want[string(s)+" fail"] = "failed"
		case StreamStopping:
			want[string(s)+" fail"] = "failed"
		}
	}
	for _, s := range StreamStates() {
		for _, e := range StreamEvents() {
			before := StreamStatus{State: s, Wanted: WantRunning}
			got, err := before.Step(e)
			to, ok := want[string(s)+" "+string(e)]
			switch {
			case !ok && (err == nil || got != before || !strings.Contains(err.Error(), string(s)) || !strings.Contains(err.Error(), string(e))):
				t.Errorf("%s in %s: %v, error %v; want a refusal with both names and no change", e, s, got, err)
			case ok && (err != nil || string(got.State) != to):
				t.Errorf("%s in %s: %v, error %v; want %s", e, s, got, err, to)
			}
		}
	}
}

func TestAnyResetEndsInTheWantedState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ events, want string }{
		{"all_ready", "running"},
		{"pause all_ready all_paused", "paused"},
		{"all_ready pause all_paused reset all_ready all_paused", "paused"},
		{"all_ready pause reset all_ready all_paused", "paused"},
		{"all_ready reset pause all_ready all_paused", "paused"},
		{"all_ready pause all_paused reset resume all_ready", "running"},
		{"all_ready stop all_stopped start all_ready", "running"},
		{"all_ready pause all_paused stop all_stopped start all_ready", "running"},
		{"all_ready fail start all_ready", "running"},
	} {
		s := StreamStatus{State: StreamCreating, Wanted: WantRunning}
		for e := range strings.FieldsSeq(c.events) {
			next, err := s.Step(StreamEvent(e))
			if err != nil {
				t.Errorf("%s: %v", c.events, err)
			}
			s = next
		}
		if string(s.State) != c.want {
			t.Errorf("%s ends in %s, want %s", c.events, s.State, c.want)
		}
	}
}
