package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/failpoint"
)

// Defaults of the flags.
const (
	defaultDuration = time.Minute
	defaultRate     = 1000
	defaultBrokers  = 3
)

// Command returns `pondage chaos`.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Run real processes through faults and compare every result with a batch computation",
		Long: `Starts Postgres, a broker, two coordinators and three workers as processes of their own in a fresh directory, writes records
through streams with and without windows into Postgres and Kafka, and meanwhile kills, stops and cuts them as the seed says.
Then it heals everything, waits until the streams are finished, and compares what has landed with what the records give.

The same seed does the same at the same times. Before the first seed a fault-free twin shows that nothing but the faults is
tested. The closing line of a seed says how many results are equal, lost, duplicated and changed; the exit status is 1 unless
all are equal and every promise beside them was kept. PONDAGE_TIME_SCALE stretches all time-outs.`,
		Example: `  pondage chaos --seed 7 --duration 1m
  pondage chaos --seeds 1-40 --record build/chaos.txt       # goes on where it was interrupted
  pondage chaos --seed 3 --faults kill,stop --sinks upsert`,
		Args: func(cmd *cobra.Command, args []string) error { return errors.Join(cobra.NoArgs(cmd, args), f.check()) },
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		s := series{Config: f.Config, seeds: f.list, several: f.seeds != "", program: program, record: f.record, twin: !f.noTwin, out: cmd.OutOrStdout()}
		s.Scale = config.TimeScale()
		if form := cmd.Flag("output"); form != nil {
			s.json = form.Value.String() == "json"
		}
		var mu sync.Mutex
		s.say = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(cmd.ErrOrStderr(), "chaos: "+format+"\n", args...)
		}
		return s.run(cmd.Context())
	}
	return cmd
}

// flags are the flags as they are given.
type flags struct {
	Config
	seed   uint64
	seeds  string
	faults []string
	sinks  []string
	record string
	noTwin bool

	list []uint64
}

func (f *flags) add(cmd *cobra.Command) {
	v := cmd.Flags()
	v.Uint64Var(&f.seed, "seed", 1, "what is done, and when")
	v.StringVar(&f.seeds, "seeds", "", "several seeds, one after the other: `1-40`, or 1,5,7")
	v.DurationVar(&f.Duration, "duration", defaultDuration, "how long records are written and faults happen")
	v.IntVar(&f.Rate, "rate", defaultRate, "records a second")
	v.StringSliceVar(&f.faults, "faults", nil, "the `kinds` of faults: "+join(Kinds())+"; without: all that can be had here")
	v.StringVar(&f.Failpoint, "failpoint", "", "the one failpoint to use, with `text` as in PONDAGE_FAILPOINTS; a misbehaviour is on from the start and has to be found")
	v.StringSliceVar(&f.sinks, "sinks", nil, "the `kinds` of outputs: "+join(Sinks())+"; without: all")
	v.StringVar(&f.Kafka, "kafka", "", "a `script`, or its folder, that starts a real Kafka; without: the embedded broker")
	v.IntVar(&f.Brokers, "brokers", defaultBrokers, "brokers of a real Kafka")
	v.StringVar(&f.record, "record", "", "a `file` that each seed's line is appended to, and whose seeds are not run again")
	v.BoolVar(&f.noTwin, "no-twin", false, "leave the fault-free twin out")
	v.BoolVar(&f.Keep, "keep", false, "keep the logs and data of a failed run")
}

// check reports everything that is wrong with the flags.
func (f *flags) check() error {
	var errs []error
	if f.Duration <= 0 || f.Rate <= 0 || f.Brokers <= 0 {
		errs = append(errs, errors.New("--duration, --rate and --brokers must be above 0"))
	}
	var err error
	if f.list, err = parseSeeds(f.seeds); err != nil {
		errs = append(errs, err)
	}
	if f.seeds == "" {
		f.list = []uint64{f.seed}
	}
	if f.Failpoint != "" {
		if _, err := failpoint.Parse(f.Failpoint); err != nil {
			errs = append(errs, fmt.Errorf("--failpoint: %w", err))
		} else if !failpoint.Built {
			errs = append(errs, errors.New("--failpoint: this program has no failpoints; build it with the tag failpoints"))
		}
	}
	if f.Faults, err = chosen("--faults", f.faults, Kinds()); err != nil {
		errs = append(errs, err)
	}
	if len(f.faults) == 0 {
		f.Faults = slices.DeleteFunc(Kinds(), func(k Kind) bool { return missing(k) != nil })
	}
	for _, k := range f.Faults {
		if err := missing(k); err != nil {
			errs = append(errs, fmt.Errorf("--faults %s: %w", k, err))
		}
	}
	if f.Sinks, err = chosen("--sinks", f.sinks, Sinks()); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// missing says what a kind of fault needs and does not find; nil: nothing.
func missing(k Kind) error {
	switch k {
	case KindFailpoint:
		if !failpoint.Built {
			return errors.New("this program has no failpoints; build it with the tag failpoints")
		}
	case KindSlow:
		if _, err := exec.LookPath("strace"); err != nil {
			return err
		}
	}
	return nil
}

// chosen reads a list of words; an empty one is all of them.
func chosen[T ~string](flag string, words []string, all []T) ([]T, error) {
	if len(words) == 0 {
		return all, nil
	}
	var out []T
	for _, w := range words {
		if !slices.Contains(all, T(w)) {
			return nil, fmt.Errorf("%s: there is no %q; there are %s", flag, w, join(all))
		}
		out = append(out, T(w))
	}
	return out, nil
}

// mostSeeds bounds a list: more is a slip of the keyboard.
const mostSeeds = 100_000

// parseSeeds reads numbers and ranges.
func parseSeeds(text string) ([]uint64, error) {
	var out []uint64
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 64)
		to, err2 := strconv.ParseUint(last, 10, 64)
		if err := errors.Join(err1, err2); err != nil || to < from || to-from > mostSeeds {
			return nil, fmt.Errorf("--seeds: %q is no seed and no range of seeds", part)
		}
		for s := from; s <= to; s++ {
			out = append(out, s)
		}
	}
	return out, nil
}
