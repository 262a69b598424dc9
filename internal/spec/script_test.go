package spec

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// TestScripts runs testdata: `source` and `stream` take one object, `file` takes any number of documents, `sql` takes a
// statement. The output is the canonical form, or every fault as `code place: message (hint)`.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "source":
				return show(orNil(ParseSource([]byte(d.Input))))
			case "stream":
				return show(orNil(ParseStream([]byte(d.Input))))
			case "record-format":
				return show(orNil(ParseRecordFormat([]byte(d.Input))))
			case "file":
				return showFile(d.Input)
			case "sql":
				st, err := sql.ParseStatement(d.Input)
				if err != nil {
					return showFaults(err)
				}
				return show(FromSQL(d.Input, st))
			}
			return "unknown command " + d.Cmd
		})
	})
}

func show(o Object, err error) string {
	if err != nil {
		return showFaults(err)
	}
	return string(o.Canonical()) + "\n"
}

func showFile(text string) string {
	docs, err := Split([]byte(text))
	if err != nil {
		return showFaults(err)
	}
	var b strings.Builder
	for _, doc := range docs {
		at, _ := doc.Place("")
		o, err := doc.Decode()
		kind := Kind("?")
		if err == nil {
			kind = o.ObjectKind()
		}
		fmt.Fprintf(&b, "line %d: %s %s", at.Line, kind, show(o, err))
	}
	return b.String()
}

func showFaults(err error) string {
	var bad *invalid.Error
	if !errors.As(err, &bad) {
		return "not an invalid.Error: " + err.Error()
	}
	var b strings.Builder
	for _, d := range bad.Details {
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
