// Package doctor looks at everything that Pondage stands on and says what is wrong and what to do.
//
// It owns: the checks. It does not own: their presentation (package cli), what a topic must be (package kafka). Nothing is
// changed by a check.
//
// Every check ends within its time, also when nothing runs; one that cannot be made because of another says so.
//
// Start reading at Examine.
package doctor

import (
	"context"
	"time"

	coordinator "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/config"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Warning Status = "warning" // it works, but not for long or not well
	Failing Status = "failing"
	Skipped Status = "skipped" // it could not be looked at
)

// Check is one thing that was looked at.
type Check struct {
	Area   string `json:"area"` // api, kafka, postgres, disk, ports or clock
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"` // what to do
}

// timeout bounds the checks of one area.
const timeout = 10 * time.Second

// Examine makes all checks, area by area.
func Examine(ctx context.Context, cfg config.Doctor, c *client.Client) []Check {
	var all []Check
	s := &state{cfg: cfg, client: c}
	for _, area := range []func(context.Context, *state) []Check{api, kafkas, postgres, disk, ports, clock} {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		all = append(all, area(bounded, s)...)
		cancel()
	}
	return all
}

// state is what one area has found out for those after it.
type state struct {
	cfg     config.Doctor
	client  *client.Client
	running *cluster // what the API says; nil without one
	topics  topics   // of the streams; empty without an API
	skew    []skew   // of other clocks
}

// cluster is where the parts of a running one say that they are reached.
type cluster struct {
	coordinator string // host:port
	workers     []coordinator.Node
	brokers     []string // host:port
	kafka       bool     // its coordinator reaches them
}

// skew is how far another clock is ahead of ours.
type skew struct {
	whose string
	ahead time.Duration
	exact time.Duration // how exactly that is known
}

func ok(area, name, detail string) Check {
	return Check{Area: area, Name: name, Status: OK, Detail: detail}
}

func bad(status Status, area, name string, detail, hint string) Check {
	return Check{Area: area, Name: name, Status: status, Detail: detail, Hint: hint}
}
