package sim

import (
	"bufio"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/failpoint"
)

// TestSeeds: whatever a seed decides, both sinks hold what a batch computation over the same records gives, bit by bit,
// nothing is written twice in one timeline, and I1 to I8 hold all the time.
func TestSeeds(t *testing.T) {
	t.Parallel()
	const first, seeds = 1, 2000
	s := RunSeries(first, seeds)
	for _, f := range s.Failures {
		t.Errorf("seed %s", f)
	}
	t.Logf("%d stages, %d terms, %d checkpoints complete, %d failed", s.Stages, s.Terms, s.Complete, s.Failed)
	for _, r := range Reaches {
		if s.Reached[r] == 0 {
			t.Errorf("no seed has come to it: %s", r)
		}
	}
}

// TestTheCheckerCanFail: each misbehaviour makes the sinks differ from the batch answer in some seed. Runs that do not end,
// and invariants that tell of it besides, do not count.
func TestTheCheckerCanFail(t *testing.T) {
	t.Parallel()
	for _, p := range failpoint.Points() {
		if p.Kind != failpoint.KindMisbehaviour {
			continue
		}
		t.Run(string(p.Point), func(t *testing.T) {
			t.Parallel()
			const most = 200
			for seed := uint64(1); seed <= most; seed++ {
				if o, err := Run(seed, always(t, p.Point)); err == nil && !o.Equal() {
					t.Logf("seed %d: %s", seed, o)
					return
				}
			}
			t.Errorf("not seen in %d seeds", most)
		})
	}
}

// always is a plan in which the misbehaviour is done whenever it can be.
func always(t *testing.T, p failpoint.Point) *failpoint.Plan {
	t.Helper()
	plan, err := failpoint.Parse(string(p) + "@1+")
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestKeptSeeds: what has failed once does not fail again.
func TestKeptSeeds(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/seeds")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, why, _ := strings.Cut(lines.Text(), " ")
		if text == "" || text == "#" {
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := Run(seed, nil); err != nil || !o.Holds() {
			t.Errorf("seed %d (%s): %s, %v", seed, why, o, err)
		}
	}
}

// TestASeedIsReplayed: a run is a function of its seed, also one that goes wrong.
func TestASeedIsReplayed(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 20; seed++ {
		for _, plan := range []func() *failpoint.Plan{
			func() *failpoint.Plan { return nil },
			func() *failpoint.Plan { return always(t, failpoint.DropOneBlock) },
			func() *failpoint.Plan { return always(t, failpoint.RestartSameStage) },
		} {
			a, err1 := Run(seed, plan())
			b, err2 := Run(seed, plan())
			if !reflect.DeepEqual(a, b) || (err1 == nil) != (err2 == nil) {
				t.Errorf("seed %d: %v %v, then %v %v", seed, a, err1, b, err2)
			}
		}
	}
}
