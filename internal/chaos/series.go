package chaos

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// series is several seeds, one at a time.
type series struct {
	Config
	seeds   []uint64
	several bool // a list was asked for: it has a closing line of its own
	program string
	// record is the file that every seed's line is appended to, and that says which seeds are done; "": none.
	record string
	// twin: run the fault-free twin before the first seed, unless the record has it.
	twin bool

	out  io.Writer
	json bool
	say  func(string, ...any)
}

// errFailed makes the command fail after its lines have said why.
var errFailed = errors.New("chaos: not every seed was equal")

// run runs what the record does not have yet.
func (s *series) run(ctx context.Context) error {
	id, err := identity(s.program)
	if err != nil {
		return err
	}
	done, err := readRecord(s.record, id, s.key())
	if err != nil {
		return err
	}
	failed := 0
	var twin *Twin
	for _, seed := range s.seeds {
		if ok, there := done.seeds[seed]; there {
			s.say("seed %d: on record", seed)
			if !ok {
				failed++
			}
			continue
		}
		if twin == nil {
			if twin, err = s.ensureTwin(ctx, id, done); err != nil {
				return err
			}
		}
		result, err := s.seed(ctx, seed, twin)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if !result.OK() {
			failed++
		}
		if err := s.report(id, result); err != nil {
			return err
		}
	}
	if s.several && !s.json {
		fmt.Fprintf(s.out, "%d seeds, %d failed\n", len(s.seeds), failed)
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}

// ensureTwin returns what the fault-free run has shown, from the record or by running it. A twin that is not equal ends the
// series: no fault is needed to break what it tests.
func (s *series) ensureTwin(ctx context.Context, id string, done recorded) (*Twin, error) {
	if done.twin != nil || !s.twin {
		if done.twin == nil {
			done.twin = &Twin{}
		}
		return done.twin, nil
	}
	s.say("the fault-free twin")
	result, err := newRun(0, s.program, s.Config, nil, s.say).do(ctx)
	if err != nil {
		return nil, fmt.Errorf("the fault-free twin: %w", err)
	}
	s.tell(result)
	if !result.OK() {
		return nil, fmt.Errorf("the fault-free twin: %s", result.Verdict)
	}
	s.say("the fault-free twin: %s, finished %.1f s after the last record", result.Verdict, result.Twin.Drain.Seconds())
	text, err := json.Marshal(result.Twin)
	if err != nil {
		return nil, err
	}
	return &result.Twin, s.append(id, twinWord+string(text))
}

// seed runs a seed, and once more where the machine was too slow for it to finish in time: only that is excused, never a
// result.
func (s *series) seed(ctx context.Context, seed uint64, twin *Twin) (Result, error) {
	for repeated := false; ; repeated = true {
		r := newRun(seed, s.program, s.Config, twin, s.say)
		s.say("seed %d: %d faults, %d records", seed, len(r.faults), len(r.records))
		result, err := r.do(ctx)
		result.Slow, result.Repeated = twin.slow(result.Twin.Work), repeated
		if err != nil {
			return result, err
		}
		s.tell(result)
		if repeated || !result.Slow || !result.late {
			return result, nil
		}
		s.say("seed %d: the machine was slower than half of the twin's, and the streams did not finish in time: repeated", seed)
	}
}

// tell says what was wrong with a run.
func (s *series) tell(r Result) {
	if r.Slow {
		s.say("the machine was slower than half of the twin's")
	}
	for _, d := range r.Verdict.First {
		s.say("%s", d)
	}
	for _, f := range r.Failures {
		s.say("%s", f)
	}
	s.say("%d resets, %d checkpoints; %d streams stand on a checkpoint after a reset; %.0f s", r.Resets, r.Checkpoints, r.Restored, r.Took.Seconds())
	if len(r.Met) > 0 {
		s.say("failpoints that were met: %s", strings.Join(r.Met, ", "))
	}
	if r.Dir != "" {
		s.say("logs and data: %s", r.Dir)
	}
}

// report prints a seed's line and puts it on record.
func (s *series) report(id string, r Result) error {
	if s.json {
		if err := json.NewEncoder(s.out).Encode(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Failures {
			fmt.Fprintf(s.out, "seed %d: %s\n", r.Seed, firstLine(f))
		}
		fmt.Fprintln(s.out, r.Line())
	}
	outcome := okWord
	if !r.OK() {
		outcome = failedWord
		if len(r.Failures) > 0 {
			outcome += ": " + firstLine(r.Failures[0])
		}
	}
	if r.Repeated {
		outcome += " (repeated: slow machine)"
	}
	return s.append(id, fmt.Sprintf("%s\t%d resets\tfailpoints met: %s\t%s", r.Line(), r.Resets, strings.Join(r.Met, " "), outcome))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// The record has a line a run: program, configuration, then the seed's line, its
// resets, the failpoints that were met, and its outcome, apart by tabs.
const (
	seedWord   = "seed "
	twinWord   = "twin "
	okWord     = "ok"
	failedWord = "failed"
)

// recorded is what the record has of a program and configuration.
type recorded struct {
	twin  *Twin
	seeds map[uint64]bool // whether it was equal
}

// readRecord reads the lines of a program and configuration.
func readRecord(path, id, key string) (recorded, error) {
	out := recorded{seeds: map[uint64]bool{}}
	if path == "" {
		return out, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, ours := strings.CutPrefix(lines.Text(), id+"\t"+key+"\t")
		if !ours {
			continue
		}
		if text, ok := strings.CutPrefix(line, twinWord); ok {
			var t Twin
			if err := json.Unmarshal([]byte(text), &t); err != nil {
				return out, fmt.Errorf("%s: %w", path, err)
			}
			out.twin = &t
			continue
		}
		var seed uint64
		fields := strings.Split(line, "\t")
		if _, err := fmt.Sscanf(line, seedWord+"%d:", &seed); err != nil {
			return out, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		out.seeds[seed] = strings.HasPrefix(fields[len(fields)-1], okWord)
	}
	return out, lines.Err()
}

func (s *series) append(id, text string) (err error) {
	if s.record == "" {
		return nil
	}
	const folder, private = 0o755, 0o644
	if err := os.MkdirAll(filepath.Dir(s.record), folder); err != nil {
		return err
	}
	f, err := os.OpenFile(s.record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, private)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", id, s.key(), text)
	return err
}

// key names a configuration.
func (c Config) key() string {
	kafka := "embedded"
	if c.Kafka != "" {
		kafka = fmt.Sprintf("kafka-%d", c.Brokers)
	}
	text := fmt.Sprintf("%s %s %d/s faults=%s sinks=%s", kafka, c.Duration, c.Rate, join(c.Faults), join(c.Sinks))
	if c.Failpoint != "" {
		text += " failpoint=" + c.Failpoint
	}
	return text
}

func join[T ~string](of []T) string {
	texts := make([]string, len(of))
	for i, t := range of {
		texts[i] = string(t)
	}
	return strings.Join(texts, ",")
}

// shortCommit is how many digits of a commit, or of a program's hash, name it.
const shortCommit = 12

// identity names what was tested: the commit, and the program's own hash where it was built from changed files.
func identity(program string) (string, error) {
	commit, changed := "", true
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value[:min(len(s.Value), shortCommit)]
			case "vcs.modified":
				changed = s.Value != "false"
			}
		}
	}
	if commit != "" && !changed {
		return commit, nil
	}
	f, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return commit + "+" + hex.EncodeToString(h.Sum(nil))[:shortCommit], nil
}
