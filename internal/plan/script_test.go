package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

// testEnv is a cluster of eight vgroups with all zones of the machine.
func testEnv() Env { return Env{Cluster: "pondage", VGroups: 8, Zone: time.LoadLocation} }

// script is the state of one testdata file: `source` declares a source, `stream` and `sql` show the plan of a stream over
// the declared sources, or every fault as `code place: message (hint)`; `graph` shows the tasks of the last plan.
type script struct {
	sources map[string]*spec.Source
	last    *Plan
}

func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{sources: map[string]*spec.Source{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(t, d)
			if err != nil {
				return showFaults(err)
			}
			return out
		})
	})
}

func (s *script) run(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "source":
		src, err := spec.ParseSource([]byte(d.Input))
		if err != nil {
			return "", err
		}
		return s.source(src)
	case "stream":
		st, err := spec.ParseStream([]byte(d.Input))
		if err != nil {
			return "", err
		}
		return s.stream(st)
	case "sql":
		st, err := sql.ParseStatement(d.Input)
		if err != nil {
			return "", err
		}
		o, err := spec.FromSQL(d.Input, st)
		if err != nil {
			return "", err
		}
		if src, ok := o.(*spec.Source); ok {
			return s.source(src)
		}
		return s.stream(o.(*spec.Stream))
	case "graph":
		var id, partitions int
		d.ScanArgs(t, "id", &id)
		d.ScanArgs(t, "partitions", &partitions)
		return showGraph(s.last.Graph(ident.StreamID(id), partitions)), nil
	}
	return "", fmt.Errorf("unknown command %s", d.Cmd)
}

func (s *script) source(src *spec.Source) (string, error) {
	in, err := BuildInput(src)
	if err != nil {
		s.sources[src.Name] = src
		return "", err
	}
	s.sources[src.Name] = src
	var b strings.Builder
	for _, f := range in.Schema {
		fmt.Fprintf(&b, "%s %s\n", f.Name, f.Type)
	}
	if in.Table != nil {
		fmt.Fprintf(&b, "tbname is computed\n")
	}
	return b.String(), nil
}

func (s *script) stream(st *spec.Stream) (string, error) {
	src := s.sources[st.Source]
	if src == nil {
		return "", fmt.Errorf("the script has no source %s", st.Source)
	}
	p, err := Build(src, st, testEnv())
	if err != nil {
		return "", err
	}
	s.last = p
	return p.Explain(), nil
}

func showGraph(g Graph) string {
	var b strings.Builder
	for _, task := range g.Tasks {
		fmt.Fprintf(&b, "%s", task.Task)
		if len(task.Partitions) > 0 {
			fmt.Fprintf(&b, " reads %v", task.Partitions)
		}
		if task.Sinks {
			b.WriteString(" writes")
		}
		b.WriteByte('\n')
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "%s -> %s %s %s\n", e.From, e.Into, e.Kind, e.Topic)
	}
	return b.String()
}

// showFaults also holds the promise that every fault has a place and says what to do.
func showFaults(err error) string {
	var bad *invalid.Error
	if !errors.As(err, &bad) {
		return "not an invalid.Error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, d := range bad.Details {
		if d.Pointer == "" && d.Span == nil {
			b.WriteString("NO PLACE ")
		}
		if d.Hint == "" {
			b.WriteString("NO HINT ")
		}
		fmt.Fprintf(&b, "%s %s", d.Code, d.Pointer)
		if d.Span != nil {
			fmt.Fprintf(&b, "@%d:%d+%d", d.Span.Line, d.Span.Column, d.Span.Length)
		}
		fmt.Fprintf(&b, ": %s", d.Message)
		if d.Hint != "" {
			fmt.Fprintf(&b, " (%s)", d.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
