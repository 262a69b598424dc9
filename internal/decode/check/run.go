package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/pondage/pondage/internal/decode"
)

// Report is the outcome of a run.
type Report struct {
	Passed   int
	Failures []Failure
}

// Failure is a case that did not pass, or a line without a case.
type Failure struct {
	Line int // 0 for a generated record
	Name string
	What string // what differs
}

// String is one line for people.
func (f Failure) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Name, f.What)
	}
	return fmt.Sprintf("line %d (%s): %s", f.Line, f.Name, f.What)
}

// Summary is the closing line of a run.
func (r *Report) Summary() string {
	return fmt.Sprintf("%d passed, %d failed", r.Passed, len(r.Failures))
}

func (r *Report) add(line int, name, what string) {
	if what == "" {
		r.Passed++
		return
	}
	r.Failures = append(r.Failures, Failure{Line: line, Name: name, What: what})
}

// Run decodes the records and compares each with its case. generated holds a file NAME.json for each generated case;
// nil leaves those out. The decoder is made from the sidecar's source. An error means that the run could not be done.
func Run(d *decode.Decoder, s *Sidecar, records io.Reader, generated fs.FS) (*Report, error) {
	report, reader := &Report{}, NewReader(d)
	if err := runLines(report, reader, s, records); err != nil {
		return nil, err
	}
	if generated == nil {
		return report, nil
	}
	for i := range s.Generated {
		c := &s.Generated[i]
		record, err := fs.ReadFile(generated, c.Name+".json")
		if err != nil {
			return nil, fmt.Errorf("generated record %s: %w", c.Name, err)
		}
		report.add(0, c.Name, c.compare(reader.decode(record), reader.batch))
	}
	return report, nil
}

func runLines(report *Report, reader *Reader, s *Sidecar, records io.Reader) error {
	lines := decode.NewLines(records)
	line := 0
	for ; ; line++ {
		record, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("records, line %d: %w", line+1, err)
		}
		if line >= len(s.Cases) {
			report.add(line+1, "?", "the sidecar has no case for it")
			continue
		}
		c := &s.Cases[line]
		what := c.compare(reader.decode(record), reader.batch)
		if c.Line != line+1 {
			what = fmt.Sprintf("its case is for line %d", c.Line)
		}
		report.add(line+1, c.Name, what)
	}
	for ; line < len(s.Cases); line++ {
		report.add(s.Cases[line].Line, s.Cases[line].Name, "the records end before it")
	}
	return nil
}
