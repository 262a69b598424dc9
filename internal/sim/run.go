package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// Outcome is what a run has come to.
type Outcome struct {
	// Results are those of both sinks that equal the batch answer, and those that do not.
	Results, Lost, Duplicated, Changed int
	// Stages and Terms begun; checkpoints complete and failed.
	Stages, Terms, Complete, Failed int
	// Broken are the invariants of DESIGN §16 that did not hold, each with its name.
	Broken []string
	// Reached counts what the run has come to; Time is how long it lasted, virtual ms.
	Reached map[Reach]int
	Time    ident.MonoMs
}

// String is the closing line of a run, as the crash suite prints it, and what did not hold.
func (o Outcome) String() string {
	s := fmt.Sprintf("%d results equal, %d lost, %d duplicated, %d changed", o.Results, o.Lost, o.Duplicated, o.Changed)
	return strings.Join(append([]string{s}, o.Broken...), "; ")
}

// Equal tells whether the sinks are as they should be.
func (o Outcome) Equal() bool { return o.Lost+o.Duplicated+o.Changed == 0 }

// Holds tells whether, besides, every invariant has held all the time.
func (o Outcome) Holds() bool { return o.Equal() && len(o.Broken) == 0 }

// maxTurns bounds a run: far more than any needs.
const maxTurns = 200_000

// Run runs a seed to its end, with the misbehaviours of the plan; nil: none. An error is a run that does not end.
func Run(seed uint64, faults *failpoint.Plan) (Outcome, error) {
	w, err := newWorld(rand.New(rand.NewPCG(seed, 1)), faults)
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
	return Outcome{}, fmt.Errorf("seed %d: not finished after %d turns, in stage %d: %s", seed, maxTurns, w.stage.number, w.outcome())
}
