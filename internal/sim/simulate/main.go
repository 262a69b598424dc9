// Command simulate runs a series of seeds of package sim (make sim SEEDS=N). The last line says how many have failed; those
// are also added to a file, whose seeds every test run replays.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/pondage/pondage/internal/sim"
)

func main() {
	seeds := flag.Uint64("seeds", 2000, "how many seeds")
	first := flag.Uint64("from", 1, "the first of them")
	keep := flag.String("keep", "", "the file that failing seeds are added to; empty: none")
	flag.Parse()
	s := sim.RunSeries(*first, *seeds)
	err := report(os.Stdout, s, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Printf("%d seeds, %d failed\n", *seeds, len(s.Failures))
	if err != nil || len(s.Failures) > 0 {
		os.Exit(1)
	}
}

// report prints what the series has come to, and keeps what has failed.
func report(out io.Writer, s sim.Series, keep string) error {
	for _, r := range sim.Reaches {
		fmt.Fprintf(out, "%8d  %s\n", s.Reached[r], r)
	}
	fmt.Fprintf(out, "%d stages, %d terms, %d checkpoints complete, %d failed; %d results equal\n", s.Stages, s.Terms, s.Complete, s.Failed, s.Results)
	for _, f := range s.Failures {
		fmt.Fprintf(out, "seed %s\n", f)
	}
	if keep == "" || len(s.Failures) == 0 {
		return nil
	}
	f, err := os.OpenFile(keep, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("keep the failing seeds: %w", err)
	}
	defer f.Close()
	for _, x := range s.Failures {
		if _, err := fmt.Fprintln(f, x); err != nil {
			return fmt.Errorf("keep the failing seeds: %w", err)
		}
	}
	return nil
}
