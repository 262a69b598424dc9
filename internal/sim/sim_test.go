package sim

import (
	"flag"
	"fmt"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 2000, "how many seeds TestSeeds runs")
	from  = flag.Uint64("from", 1, "the first of them")
)

// TestSeeds: whatever a seed decides, the sink holds what a batch computation over the same records gives, bit by bit
// (I1, I2), and nothing is written twice in one timeline.
func TestSeeds(t *testing.T) {
	t.Parallel()
	var stages, complete, failed int
	for seed := *from; seed < *from+*seeds; seed++ {
		o, err := Run(seed, None)
		if err != nil {
			t.Fatal(err)
		}
		if !o.Equal() {
			t.Fatalf("seed %d: %s (%d stages, %d checkpoints complete, %d failed)", seed, o, o.Stages, o.Complete, o.Failed)
		}
		stages, complete, failed = stages+o.Stages, complete+o.Complete, failed+o.Failed
	}
	t.Logf("%d seeds, 0 failed; %d stages, %d checkpoints complete, %d failed", *seeds, stages, complete, failed)
	if complete == 0 || failed == 0 || stages < int(*seeds) {
		t.Error("the seeds do not reach what they are for")
	}
}

// TestTheCheckerCanFail: each rule, broken on purpose, is seen in some of the seeds.
func TestTheCheckerCanFail(t *testing.T) {
	t.Parallel()
	for name, sabotage := range map[string]Sabotage{
		"skip-fence": SkipFence, "restart-same-stage": RestartSameStage, "restore what is not complete": ReuseCheckpoint,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 60
			for seed := uint64(1); seed <= most; seed++ {
				if o, err := Run(seed, sabotage); err != nil || !o.Equal() {
					return
				}
			}
			t.Errorf("not seen in %d seeds", most)
		})
	}
}

// TestASeedIsReplayed: a run is a function of its seed.
func TestASeedIsReplayed(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 5; seed++ {
		a, err1 := Run(seed, None)
		b, err2 := Run(seed, None)
		if fmt.Sprint(a, err1) != fmt.Sprint(b, err2) {
			t.Errorf("seed %d: %v %v, then %v %v", seed, a, err1, b, err2)
		}
	}
}
