package vectors

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pondage/pondage/internal/plan"
)

// Verdict is what became of a case.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "ok"
	Failed  Verdict = "FAIL"
	Skipped Verdict = "skip"
)

// Outcome is a case's verdict, with the reason unless it has passed.
type Outcome struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// String is the outcome's line.
func (o Outcome) String() string {
	if o.Reason == "" {
		return string(o.Verdict) + " " + o.Name
	}
	return fmt.Sprintf("%s %s %s", o.Verdict, o.Name, o.Reason)
}

// Engine runs streams.
type Engine interface {
	// Run runs a case that is not skipped, and returns the rows that stand at the end: those of each way that the engine
	// runs it in. An error is a failure of the case.
	Run(ctx context.Context, c *Case) ([]Attempt, error)
}

// Attempt is one run of a case.
type Attempt struct {
	How    string // tells it from the other runs of the case
	Result plan.ResultSchema
	Rows   [][]byte // JSON, one for each natural key
}

// Run runs the vectors of a directory and gives each outcome to report as it comes. An error is that of the directory.
func Run(ctx context.Context, dir string, e Engine, report func(Outcome)) (Tally, error) {
	cases, err := Load(dir)
	if err != nil {
		return Tally{}, err
	}
	var t Tally
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		o := run(ctx, c, e)
		t.add(o.Verdict)
		report(o)
	}
	return t, nil
}

func run(ctx context.Context, c *Case, e Engine) Outcome {
	if reason := c.Skip(); reason != "" {
		return Outcome{c.Name, Skipped, reason}
	}
	attempts, err := e.Run(ctx, c)
	if err != nil {
		return Outcome{c.Name, Failed, err.Error()}
	}
	for _, a := range attempts {
		difference, err := c.Compare(a.Result, a.Rows)
		if err != nil {
			difference = err.Error()
		}
		if difference != "" {
			return Outcome{c.Name, Failed, a.How + ": " + difference}
		}
	}
	return Outcome{c.Name, Passed, ""}
}

// Tally counts verdicts.
type Tally struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func (t *Tally) add(v Verdict) {
	switch v {
	case Passed:
		t.Passed++
	case Failed:
		t.Failed++
	case Skipped:
		t.Skipped++
	}
}

// String is the closing line (INTERFACE §4).
func (t Tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
}

// Print returns a report that writes a line for each outcome.
func Print(w io.Writer) func(Outcome) {
	return func(o Outcome) { fmt.Fprintln(w, o) }
}

// virtualVGroups is DESIGN's default: the virtual cluster has as many tasks as a real one.
const virtualVGroups = 8

// Env is what plans of the vectors depend on. A stack of the defaults gives the same results.
func Env() plan.Env {
	return plan.Env{Cluster: "conformance", VGroups: virtualVGroups, Zone: time.LoadLocation}
}
