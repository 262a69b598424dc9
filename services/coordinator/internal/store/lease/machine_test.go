package lease

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/ident"
)

// TestScripts runs testdata/: each file is one process; the output is the effects and what the process then is.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Parallel()
		var m Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for _, e := range m.Step(scriptEvent(t, d)) {
				fmt.Fprintf(&out, "%s\n", strings.TrimPrefix(fmt.Sprintf("%T%+v", e, e), "lease."))
			}
			switch m.Role() {
			case Standby:
				out.WriteString("standby")
			case Holder:
				fmt.Fprintf(&out, "holder of %d until %d", m.term, m.until)
			case Done:
				out.WriteString("done")
			}
			return out.String() + "\n"
		})
	})
}

func scriptEvent(t *testing.T, d *datadriven.TestData) Event {
	number := func(key string) int64 {
		var n int64
		d.ScanArgs(t, key, &n)
		return n
	}
	switch d.Cmd {
	case "tick":
		return Tick{ident.MonoMs(number("now"))}
	case "read":
		return Read{At: ident.MonoMs(number("at")), Seen: Seen{Term: ident.Term(number("term")), Holder: "x", Beat: number("beat")}}
	case "taken":
		return Taken{ident.MonoMs(number("begun")), ident.Term(number("term"))}
	case "renewed":
		return Renewed{ident.MonoMs(number("begun")), ident.Term(number("term"))}
	case "lost":
		return Lost{}
	case "resign":
		return Resign{}
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return nil
}

// process is one that takes part in a simulation.
type process struct {
	m      Machine
	offset ident.MonoMs // of its clock
	busy   ident.MonoMs // true time until which it does nothing: frozen, or waiting for an answer
	answer Event        // comes when busy is over
}

// TestNeverTwoThatTrust runs two processes with clocks of their own over one table: answers are late, processes freeze.
// At no time do two trust their lease; and somebody leads often enough.
func TestNeverTwoThatTrust(t *testing.T) {
	t.Parallel()
	const seeds = 100
	led, steps := 0, 0
	for seed := range uint64(seeds) {
		l, n := simulate(t, rand.New(rand.NewPCG(seed, 0)))
		led, steps = led+l, steps+n
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if led < steps/4 { // they freeze a lot
		t.Errorf("somebody led at %d of %d steps", led, steps)
	}
}

func simulate(t *testing.T, rnd *rand.Rand) (led, of int) {
	const steps = 3000
	table := Seen{Beat: Released}
	all := []*process{{offset: 7}, {offset: 1 << 40}}
	var now ident.MonoMs
	for range steps {
		now += ident.MonoMs(1 + rnd.IntN(100))
		p := all[rnd.IntN(len(all))]
		switch {
		case now < p.busy:
		case rnd.IntN(40) == 0:
			p.busy = now + TTL + Renewal // frozen, with whatever answer is due
		default:
			p.run(&table, now, rnd)
		}
		trusting := 0
		for _, o := range all {
			if _, ok := o.m.Trusted(now + o.offset); ok {
				trusting++
			}
		}
		if trusting > 1 {
			t.Errorf("two processes trust their lease at %d", now)
		}
		led += trusting
	}
	return led, steps
}

// run lets the process hear what is due and obey what follows; an answer comes at once, late, or very late.
func (p *process) run(table *Seen, now ident.MonoMs, rnd *rand.Rand) {
	mine := now + p.offset
	events := []Event{Tick{mine}}
	if p.answer != nil {
		events, p.answer = []Event{arriving(p.answer, mine)}, nil
	}
	for len(events) > 0 {
		var effects []Effect
		effects, events = p.m.Step(events[0]), events[1:]
		for _, e := range effects {
			answer := obey(table, e, mine)
			delay := []ident.MonoMs{0, 0, 0, 0, 400, 5000}[rnd.IntN(6)]
			switch {
			case answer == nil:
			case delay == 0:
				events = append(events, arriving(answer, mine))
			default:
				p.busy, p.answer = now+delay, answer
			}
		}
	}
}

// arriving gives a read the time at which it is there.
func arriving(ev Event, at ident.MonoMs) Event {
	if r, ok := ev.(Read); ok {
		r.At = at
		return r
	}
	return ev
}

// obey is the metastore.
func obey(table *Seen, e Effect, begun ident.MonoMs) Event {
	switch e := e.(type) {
	case Look:
		return Read{Seen: *table}
	case TakeOver:
		if *table != e.From {
			return nil
		}
		*table = Seen{Term: table.Term + 1, Beat: 0}
		return Taken{begun, table.Term}
	case Renew:
		if e.Term != table.Term {
			return Lost{}
		}
		table.Beat++
		return Renewed{begun, e.Term}
	}
	return nil
}
