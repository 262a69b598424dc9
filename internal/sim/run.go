package sim

import (
	"fmt"
	"math/rand/v2"
)

// Sabotage is a rule that is broken on purpose.
type Sabotage uint8

// The sabotages; what each stands for is a failpoint of the same name.
const (
	None             Sabotage = iota
	SkipFence                 // a new stage's sink keeps what the dead timeline has written
	RestartSameStage          // tasks begin again without a new stage
	ReuseCheckpoint           // a reset restores a checkpoint that is not complete
)

// Outcome is what a run has come to.
type Outcome struct {
	Results, Lost, Duplicated, Changed int
	Stages, Complete, Failed           int // stages begun; checkpoints complete and failed
}

// String is the closing line of a run, as the crash suite prints it.
func (o Outcome) String() string {
	return fmt.Sprintf("%d results equal, %d lost, %d duplicated, %d changed", o.Results, o.Lost, o.Duplicated, o.Changed)
}

// Equal tells whether the sink is as it should be.
func (o Outcome) Equal() bool { return o.Lost+o.Duplicated+o.Changed == 0 }

// maxTurns bounds a run: far more than any needs.
const maxTurns = 200_000

// Run runs a seed to its end. An error is a run that does not end, or a core that refuses what it was told.
func Run(seed uint64, s Sabotage) (Outcome, error) {
	w, err := newWorld(rand.New(rand.NewPCG(seed, 1)), s)
	if err != nil {
		return Outcome{}, err
	}
	for range maxTurns {
		if err := w.turn(); err != nil {
			return Outcome{}, fmt.Errorf("seed %d, virtual time %d ms, stage %d: %w", seed, w.now, w.stage.number, err)
		}
		if w.finished() {
			return w.outcome(), nil
		}
	}
	return Outcome{}, fmt.Errorf("seed %d: not finished after %d turns, in stage %d", seed, maxTurns, w.stage.number)
}
