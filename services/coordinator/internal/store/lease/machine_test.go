package lease

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

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

// TestNeverTwoThatTrust runs three processes with clocks of their own over one table: attempts are slow, fail, or freeze
// between the statement and its answer. At no time do two trust their lease.
func TestNeverTwoThatTrust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const processes = 3
		var table Seen
		table.Beat = Released
		type process struct {
			m      Machine
			offset ident.MonoMs // of its clock
			busy   ident.MonoMs // true time until which it hears nothing
			answer Event        // comes when busy is over
		}
		all := make([]*process, processes)
		for i := range all {
			all[i] = &process{offset: ident.MonoMs(rapid.Int64Range(-1e9, 1e9).Draw(t, "clock"))}
		}
		var now ident.MonoMs
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			now += ident.MonoMs(rapid.Int64Range(1, 700).Draw(t, "pass"))
			p := rapid.SampledFrom(all).Draw(t, "process")
			if now < p.busy {
				continue
			}
			mine := now + p.offset
			events := []Event{Tick{mine}}
			if r, ok := p.answer.(Read); ok {
				r.At = mine
				events = []Event{r}
			} else if p.answer != nil {
				events = []Event{p.answer}
			}
			p.answer = nil
			for len(events) > 0 {
				var effects []Effect
				effects, events = p.m.Step(events[0]), events[1:]
				for _, e := range effects {
					delay := ident.MonoMs(rapid.SampledFrom([]int64{0, 5, 400, 5000}).Draw(t, "delay"))
					answer := obey(&table, e, mine)
					if answer != nil {
						p.busy, p.answer = now+delay, answer
					}
				}
			}
			trusting := 0
			for _, o := range all {
				if term, ok := o.m.Trusted(now + o.offset); ok {
					trusting++
					if term > table.Term {
						t.Fatalf("a term %d that nobody wrote", term)
					}
				}
			}
			if trusting > 1 {
				t.Fatalf("%d processes trust their lease at %d", trusting, now)
			}
		}
	})
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
