package chaos

import (
	"reflect"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/failpoint"
)

func scene() Scene {
	return Config{Duration: time.Minute, Faults: Kinds(), Sinks: Sinks(), Kafka: "kafka.sh", Brokers: 3}.scene(Queries(Sinks()))
}

func TestASeedDoesTheSameAgain(t *testing.T) {
	t.Parallel()
	if a, b := Schedule(7, scene()), Schedule(7, scene()); !reflect.DeepEqual(a, b) {
		t.Errorf("one seed, two schedules:\n%v\n%v", a, b)
	}
	if a, b := Schedule(7, scene()), Schedule(8, scene()); reflect.DeepEqual(a, b) {
		t.Errorf("two seeds, one schedule: %v", a)
	}
	if a, b := Records(7, 100), Records(7, 100); !reflect.DeepEqual(a, b) {
		t.Error("one seed, different records")
	}
}

// TestFaultsStayWithinTheRun: both ends are quiet, nothing is stopped for longer than a third, every target exists.
func TestFaultsStayWithinTheRun(t *testing.T) {
	t.Parallel()
	s := scene()
	known := map[string]bool{TargetPostgres: true, TargetKafka: true}
	for _, names := range [][]string{s.Coordinators, s.Workers, s.Brokers, s.Streams} {
		for _, name := range names {
			known[name] = true
		}
	}
	met := map[Kind]bool{}
	for seed := range uint64(200) {
		for _, f := range Schedule(seed, s) {
			met[f.Kind] = true
			if f.At < part(s.Duration, quietStart) || f.At+f.For > part(s.Duration, quietEnd) {
				t.Errorf("seed %d: %s: outside of the run", seed, f)
			}
			if f.Kind == KindStop && f.For > s.Duration/3 {
				t.Errorf("seed %d: %s: too long", seed, f)
			}
			if !known[f.Target] || f.How == "" {
				t.Errorf("seed %d: %s: of what?", seed, f)
			}
		}
	}
	if len(met) != len(Kinds()) {
		t.Errorf("of %v only %v came", Kinds(), met)
	}
}

// TestASeriesWalksTheFailpoints: a new one is met on the day it is added.
func TestASeriesWalksTheFailpoints(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	series := len(failpoint.Points())
	for seed := range uint64(series) { //nolint:gosec // a length
		for _, f := range Schedule(seed+1, scene()) {
			met[pointOf(f.Switch)] = true
		}
	}
	for _, p := range failpoint.Points() {
		if p.Kind == failpoint.KindPlace && !met[string(p.Point)] {
			t.Errorf("%s does not come in %d seeds", p.Point, series)
		}
	}
}

// TestAMisbehaviourIsNoFaultInTime: it is on from the start, and its kind is not drawn.
func TestAMisbehaviourIsNoFaultInTime(t *testing.T) {
	t.Parallel()
	cfg := Config{Duration: time.Minute, Faults: []Kind{KindKill, KindFailpoint}, Failpoint: "drop-one-block@3", Scale: 1}
	r := newRun(1, "", cfg, &Twin{}, nil)
	if r.always != cfg.Failpoint {
		t.Errorf("on from the start: %q", r.always)
	}
	for _, f := range r.faults {
		if f.Kind != KindKill {
			t.Errorf("drawn: %s", f)
		}
	}
}

// TestTheEmbeddedBrokerIsKilledOnlyWhereItCanBe: its transactions do not outlive a kill -9, everything else does.
func TestTheEmbeddedBrokerIsKilledOnlyWhereItCanBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kafka string
		sinks []Sink
		want  How
	}{
		{"", Sinks(), HowTerminate},
		{"", []Sink{SinkUpsert, SinkTransactionalPostgres}, HowKill},
		{"kafka.sh", Sinks(), HowKill},
	} {
		s := Config{Duration: time.Minute, Faults: []Kind{KindBroker}, Sinks: c.sinks, Kafka: c.kafka, Brokers: 3}.scene(Queries(c.sinks))
		met := map[How]bool{}
		for seed := range uint64(20) {
			for _, f := range Schedule(seed, s) {
				met[f.How] = true
			}
		}
		if other := map[How]How{HowKill: HowTerminate, HowTerminate: HowKill}[c.want]; !met[c.want] || met[other] {
			t.Errorf("Kafka %q, %v: %v", c.kafka, c.sinks, met)
		}
	}
}
