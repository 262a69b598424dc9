package vectors

import (
	"context"
	"fmt"
)

// Virtual runs cases in virtual time, without Kafka, clock and goroutines.
type Virtual struct{}

// cuts are how many records come with one fetch: the answer must not depend on it.
var cuts = []struct {
	how     string
	records int // 0: all
}{{"one record a fetch", 1}, {"three records a fetch", 3}, {"all records in one fetch", 0}}

// Run implements Engine.
func (Virtual) Run(_ context.Context, c *Case) ([]Attempt, error) {
	specs, err := c.Specs("conformance")
	if err != nil {
		return nil, err
	}
	p, err := specs.Plan(Env())
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	lines, err := c.Lines()
	if err != nil {
		return nil, err
	}
	var attempts []Attempt
	for _, cut := range cuts {
		vc, err := newCluster(p)
		if err != nil {
			return nil, err
		}
		if err := vc.feed(lines, cut.records); err != nil {
			return nil, fmt.Errorf("%s: %w", cut.how, err)
		}
		attempts = append(attempts, Attempt{How: cut.how, Result: p.Result, Rows: vc.results.rows()})
	}
	return attempts, nil
}
