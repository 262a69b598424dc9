package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pondage/pondage/internal/sim"
)

// TestFailingSeedsAreKept: one a line, behind those that are there.
func TestFailingSeedsAreKept(t *testing.T) {
	t.Parallel()
	keep := filepath.Join(t.TempDir(), "seeds")
	for _, f := range []sim.Failure{{Seed: 7, Why: "1 lost"}, {Seed: 9, Why: "no end\nat all"}} {
		if err := report(io.Discard, sim.Series{Failures: []sim.Failure{f}}, keep); err != nil {
			t.Fatal(err)
		}
	}
	if err := report(io.Discard, sim.Series{}, keep); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(keep)
	if want := "7 1 lost\n9 no end; at all\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
