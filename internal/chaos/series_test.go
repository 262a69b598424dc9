package chaos

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]uint64{"3": {3}, "1-3": {1, 2, 3}, "7,1-2": {7, 1, 2}, "3-1": nil, "x": nil, "1-": nil, "1-9999999999": nil} {
		got, err := parseSeeds(text)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestTheRecordKnowsWhatIsDone: of this program and configuration only.
func TestTheRecordKnowsWhatIsDone(t *testing.T) {
	t.Parallel()
	s := series{Config: Config{Duration: time.Minute, Rate: 1, Faults: Kinds(), Sinks: Sinks()}, record: filepath.Join(t.TempDir(), "deep", "record")}
	if got, err := readRecord(s.record, "id", s.key()); err != nil || got.twin != nil || len(got.seeds) != 0 {
		t.Errorf("a record that is not there: %+v, %v", got, err)
	}
	good := Result{Seed: 1, Verdict: Verdict{Equal: 5}}
	bad := Result{Seed: 2, Verdict: Verdict{Equal: 5}, Failures: []string{"a stream did not finish\nwith more"}}
	s.json, s.out = true, discard{}
	for id, results := range map[string][]Result{"id": {good, bad}, "other": {{Seed: 3, Verdict: Verdict{Equal: 1}}}} {
		if err := s.append(id, `twin {"work_ns":7,"drain_ns":9}`); err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if err := s.report(id, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := readRecord(s.record, "id", s.key())
	if err != nil {
		t.Fatal(err)
	}
	if want := map[uint64]bool{1: true, 2: false}; !reflect.DeepEqual(got.seeds, want) || got.twin == nil || got.twin.Drain != 9 {
		t.Errorf("%+v, want %v", got, want)
	}
	s.Rate = 2
	if got, err := readRecord(s.record, "id", s.key()); err != nil || len(got.seeds) != 0 {
		t.Errorf("another configuration: %+v, %v", got, err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestASlowMachineIsSlowerThanHalf(t *testing.T) {
	t.Parallel()
	twin := Twin{Work: 10 * time.Millisecond}
	for work, want := range map[time.Duration]bool{19 * time.Millisecond: false, 21 * time.Millisecond: true} {
		if twin.slow(work) != want {
			t.Errorf("%s: %v", work, !want)
		}
	}
	if (Twin{}).slow(time.Hour) {
		t.Error("without a twin no machine is slow")
	}
}
