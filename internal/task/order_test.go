package task

import (
	"slices"
	"testing"
)

// TestEveryPairOfActions holds the rules of DESIGN §11 against the table, pair by pair.
func TestEveryPairOfActions(t *testing.T) {
	t.Parallel()
	exclusive := []Action{ActUpdate, ActMove, ActSplit, ActRecalculation}
	endedByReset := []Action{ActReset, ActPause, ActCheckpoint, ActSavepoint, ActUpdate, ActMove, ActSplit}
	rank := func(a Action) int { return slices.Index(Actions(), a) }
	for _, running := range Actions() {
		for _, asked := range Actions() {
			got := Meet(running, asked)
			want := Verdict("")
			switch {
			case running == ActDrop && asked == ActDrop, running == ActStop && asked == ActStop:
				want = Join
			case rank(running) <= rank(ActStop) && rank(asked) > rank(running):
				want = Outranked // drop and stop end everything weaker, also what is still to come
			case rank(asked) <= rank(ActStop):
				want = Supersede
			case asked == ActReset && slices.Contains(endedByReset, running):
				want = Supersede
			case asked == ActReset && running == ActRecalculation:
				want = Proceed // a reset resumes it
			case asked == ActPause && (running == ActCheckpoint || running == ActSavepoint):
				want = Wait
			case running == ActRecalculation && asked == ActRecalculation:
				want = Wait // overlapping ones queue
			case slices.Contains(exclusive, running) && slices.Contains(exclusive, asked):
				want = Busy
			case asked == ActCheckpoint && (running == ActCheckpoint || running == ActSavepoint):
				want = Busy // refused, not stacked
			case running == ActReset && (asked == ActCheckpoint || asked == ActSavepoint):
				want = Wait // until all are ready
			}
			if want != "" && got != want {
				t.Errorf("%s asked while %s runs: %s, want %s", asked, running, got, want)
			}
			if got == "" {
				t.Errorf("%s asked while %s runs: no verdict", asked, running)
			}
		}
	}
}
