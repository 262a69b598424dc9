package task

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// diagram returns docs/states.md, made from the tables.
func diagram() string {
	var b strings.Builder
	b.WriteString(`# States

Made from the tables of ` + "`internal/task`" + ` (` + "`go test ./internal/task -run Diagram -update`" + `); what is not in them is refused.

## A task

`)
	writeMermaid(&b, taskEdges(), string(Uninit))
	b.WriteString("\nKept until a state takes it, then applied before anything else:\n\n")
	for _, s := range States() {
		for _, e := range Events() {
			if taskTable[s][e] == keep {
				fmt.Fprintf(&b, "- `%s` in `%s`\n", e, s)
			}
		}
	}
	b.WriteString("\n`reset` and `start` need a higher stage; `resume` takes back what was kept.\n\n## A stream\n\n")
	writeMermaid(&b, streamEdges(), string(StreamCreating))
	b.WriteString("\nA stream that becomes ready goes where its wanted state says; `pause`, `resume`, `stop` and `start` set it.\n\n## Two actions on one stream\n\n")
	writeMeetings(&b)
	return b.String()
}

// edge is one arrow of a diagram.
type edge struct{ from, to, event string }

func taskEdges() []edge {
	var edges []edge
	for _, s := range States() {
		for _, e := range Events() {
			switch target := taskTable[s][e]; target {
			case "", keep, unkeep:
			case back:
				for _, before := range befores(e) {
					edges = append(edges, edge{string(s), string(before), string(e)})
				}
			default:
				edges = append(edges, edge{string(s), string(target), string(e)})
			}
		}
	}
	return edges
}

// befores lists the states that an event may lead back to: those from which the state was entered.
func befores(e Event) []State {
	entering := GenCheckpoint
	if e == Resume {
		entering = Pause
	}
	var states []State
	for _, s := range States() {
		if target := taskTable[s][entering]; target != "" && target != keep {
			states = append(states, s)
		}
	}
	return states
}

func streamEdges() []edge {
	var edges []edge
	for _, s := range StreamStates() {
		for _, e := range StreamEvents() {
			switch target := streamTable[s][e]; target {
			case "", same:
			case byWanted:
				for _, w := range []Wanted{WantRunning, WantPaused, WantStopped} {
					edges = append(edges, edge{string(s), string(wantedStates[w]), fmt.Sprintf("%s, wanted %s", e, w)})
				}
			default:
				edges = append(edges, edge{string(s), string(target), string(e)})
			}
		}
	}
	return edges
}

// writeMermaid draws the arrows, those between the same two states as one.
func writeMermaid(b *strings.Builder, edges []edge, first string) {
	fmt.Fprintf(b, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", first)
	for i, e := range edges {
		if slices.ContainsFunc(edges[:i], func(o edge) bool { return o.from == e.from && o.to == e.to }) {
			continue
		}
		var events []string
		for _, o := range edges[i:] {
			if o.from == e.from && o.to == e.to {
				events = append(events, o.event)
			}
		}
		fmt.Fprintf(b, "    %s --> %s: %s\n", e.from, e.to, strings.Join(events, " / "))
	}
	b.WriteString("```\n")
}

func writeMeetings(b *strings.Builder) {
	b.WriteString("| running ↓ asked → |")
	for _, a := range Actions() {
		fmt.Fprintf(b, " %s |", a)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Actions())) + "\n")
	for _, running := range Actions() {
		fmt.Fprintf(b, "| **%s** |", running)
		for _, asked := range Actions() {
			fmt.Fprintf(b, " %s |", Meet(running, asked))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`supersede`: the running one ends as failed. `outranked`: refused for good. `busy`: refused with 409, may be asked again.\n")
}

var update = flag.Bool("update", false, "write docs/states.md anew")

func TestDiagramIsMadeFromTheTables(t *testing.T) {
	t.Parallel()
	const page = "../../docs/states.md"
	want := diagram()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the tables say; run: go test ./internal/task -run Diagram -update", page)
	}
}
