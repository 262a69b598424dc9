//go:build failpoints

package sink

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pondage/pondage/internal/devstack/testpg"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

// live, where it is set, makes this binary a sink task that does what it says.
const live = "SINK_TEST_LIVE"

// order is the life of a sink task in one stage.
type order struct {
	DSN           string
	Transactional bool
	Stage         ident.Stage
	Restored      ident.CheckpointID
	Said          *manifest.Sink
	Last          ident.CheckpointID // it takes all checkpoints up to this one
	Fails         bool               // none of them is complete
	Late          string             // a key that it writes at the end, when it is told to
}

// said is a line of what a task says.
type said struct {
	Prepared ident.CheckpointID
	Sink     manifest.Sink
	Asks     bool // whether it may write its late row
}

func TestMain(m *testing.M) {
	var err error
	if text := os.Getenv(live); text != "" {
		err = liveAs[order](text)
	} else if text := os.Getenv(liveKafka); text != "" {
		err = liveAs[kafkaOrder](text)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// liveAs does what an order says.
func liveAs[O interface{ live(context.Context) error }](text string) error {
	var o O
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	return o.live(context.Background())
}

func (o order) output(pool *pgxpool.Pool) participant {
	start := Start{Stage: o.Stage, Restored: o.Restored, Sink: o.Said, Retain: 3}
	e := envOf(&memory{}, &rejects{})
	if o.Transactional {
		return NewPostgresTransactional(pool, staging(), fenceOf(o.Stage), []ident.VGroup{fenceOf(1).VGroup}, start, e).(participant)
	}
	return NewPostgres(pool, target(), fenceOf(o.Stage), &start, e).(participant)
}

// results are those between checkpoint c-1 and c.
func results(c ident.CheckpointID) (first int, keys []string) {
	return int(c) * 10, []string{"x", fmt.Sprint("c", c)}
}

// modelAt is what the table holds at checkpoint c.
func modelAt(c ident.CheckpointID) map[string]int64 {
	out := map[string]int64{}
	for i := ident.CheckpointID(1); i <= c; i++ {
		first, keys := results(i)
		for n, k := range keys {
			out[k] = int64(first + n)
		}
	}
	return out
}

func (o order) live(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, o.DSN)
	if err != nil {
		return err
	}
	defer pool.Close()
	out := o.output(pool)
	defer out.Close()
	complete(ctx, out, o.Restored)
	say := json.NewEncoder(os.Stdout)
	for c := o.Restored + 1; c <= o.Last; c++ {
		first, keys := results(c)
		if err := errors.Join(out.Write(ctx, rowsOf(first, keys...)), out.Trigger(ctx, c)); err != nil {
			return err
		}
		sink, err := prepare(ctx, out, c)
		if err == nil {
			err = say.Encode(said{Prepared: c, Sink: sink})
		}
		if err != nil {
			return err
		}
		if !o.Fails {
			complete(ctx, out, c)
		}
	}
	if o.Late == "" {
		return nil
	}
	if err := say.Encode(said{Asks: true}); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return errors.Join(out.Write(ctx, rowsOf(1, o.Late)), out.Flush(ctx))
}

// prepare asks until it succeeds or the output has stopped.
func prepare(ctx context.Context, out participant, c ident.CheckpointID) (s manifest.Sink, err error) {
	for {
		if s, _, err = out.Prepare(ctx, c); err == nil || out.Stopped() != nil {
			return s, err
		}
	}
}

// complete tells it until it has done it, as a task does.
func complete(ctx context.Context, out participant, c ident.CheckpointID) {
	for out.Complete(ctx, c) != nil && out.Stopped() == nil {
	}
}

// process is a task that lives in a process of its own.
type process struct {
	*exec.Cmd
	in     io.Writer
	out    *json.Decoder
	errors *bufio.Reader
}

func (o order) process(t *testing.T, failpoints string) process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := process{Cmd: exec.CommandContext(ctx, os.Args[0])}
	p.Env = append(os.Environ(), live+"="+string(text), "PONDAGE_FAILPOINTS="+failpoints)
	in, errI := p.StdinPipe()
	out, errO := p.StdoutPipe()
	errs, errE := p.StderrPipe()
	if err := errors.Join(errI, errO, errE, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out, p.errors = in, json.NewDecoder(out), bufio.NewReader(errs)
	return p
}

// end reads what the task says until its end.
func (p process) end() (last said) {
	for {
		var s said
		if p.out.Decode(&s) != nil {
			_ = p.Wait()
			return last
		}
		last = s
	}
}

// TestFailpointsOfPostgres: the task is killed, or fails, at each place, the first time and later; the next stage goes on
// from the newest checkpoint that it has prepared, and the table holds what it must.
func TestFailpointsOfPostgres(t *testing.T) {
	t.Parallel()
	for delivery, points := range map[bool][]string{
		false: {"sink/fence:raised", "sink/restore:before-commit", "sink/upsert:before-commit", "sink/upsert:committed"},
		true: {
			"sink/fence:raised", "sink/stage:before-commit", "sink/stage:committed", "sink/publish:before-commit", "sink/publish:committed",
		},
	} {
		for _, point := range points {
			for _, action := range []string{"die@1", "die@3", "error(EIO)@1", "error(EIO)@2"} {
				t.Run(fmt.Sprintf("%t %s=%s", delivery, point, action), func(t *testing.T) {
					t.Parallel()
					o := order{DSN: testpg.DSN(t), Transactional: delivery, Stage: 1, Last: 1}
					first := o.process(t, "").end()
					o.Stage, o.Restored, o.Said, o.Last = 2, 1, &first.Sink, 4
					last := o.process(t, point+"="+action).end()
					if last.Prepared == 0 {
						last = first
					}
					pool, err := pgxpool.New(t.Context(), o.DSN)
					if err != nil {
						t.Fatal(err)
					}
					defer pool.Close()
					o.Stage, o.Restored, o.Said = 3, last.Prepared, &last.Sink
					out := o.output(pool)
					defer out.Close()
					if err := out.Complete(t.Context(), o.Restored); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(text(modelAt(o.Restored)), table(t, pool)); diff != "" {
						t.Errorf("restored to %d (-want +got):\n%s", o.Restored, diff)
					}
				})
			}
		}
	}
}

// TestFailpointsThatPublishEarly: what readers see is no complete checkpoint.
func TestFailpointsThatPublishEarly(t *testing.T) {
	t.Parallel()
	for failpoints, want := range map[string]string{"": "", "commit-early@1+": text(modelAt(2))} {
		o := order{DSN: testpg.DSN(t), Transactional: true, Stage: 1, Last: 2, Fails: true}
		o.process(t, failpoints).end()
		pool, err := pgxpool.New(t.Context(), o.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if got := table(t, pool); got != want {
			t.Errorf("%q: readers see %q", failpoints, got)
		}
	}
}

// TestFailpointsThatLetAZombieWrite: a row of a dead stage appears, and only with the fault.
func TestFailpointsThatLetAZombieWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failpoints string
		within     bool // its transaction when the next stage begins, and goes on after that
		appears    bool
	}{
		"late":          {},
		"skip-fence":    {failpoints: "skip-fence@1+", appears: true},
		"within":        {within: true},
		"no-fence-lock": {failpoints: "no-fence-lock=on@1+", within: true, appears: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failpoints, goOn := c.failpoints, filepath.Join(t.TempDir(), "go-on")
			if c.within {
				failpoints = fmt.Sprintf("sink/upsert:before-commit=wait(%s)@2; %s", goOn, failpoints)
			}
			o := order{DSN: testpg.DSN(t), Stage: 1, Last: 1, Late: "zombie"}
			zombie := o.process(t, failpoints)
			var first said
			for s := (said{}); !s.Asks; {
				if err := zombie.out.Decode(&s); err != nil {
					t.Fatal(err)
				}
				if s.Prepared > 0 {
					first = s
				}
			}
			tell := func() {
				if _, err := io.WriteString(zombie.in, "\n"); err != nil {
					t.Fatal(err)
				}
			}
			pool, err := pgxpool.New(t.Context(), o.DSN)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			if c.within {
				tell()
				for line := ""; !strings.Contains(line, "wait"); {
					var err error
					if line, err = zombie.errors.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
			}
			// The zombie that holds the fence is ended by the next stage, so nobody waits for its going on.
			next := order{Stage: 2, Restored: 1, Said: &first.Sink}.output(pool)
			defer next.Close()
			if err := next.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(goOn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if !c.within {
				tell()
			}
			go func() { _, _ = io.Copy(io.Discard, zombie.errors) }()
			zombie.end()
			if got := table(t, pool); strings.Contains(got, "zombie") != c.appears {
				t.Errorf("the table: %s", got)
			}
		})
	}
}
