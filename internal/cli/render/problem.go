package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pondage/pondage/internal/problem"
)

// Problem writes an error: a problem document on a line as JSON or YAML, for people as text. For people a place is shown
// as file:line:column, the file being the document's instance.
func Problem(w io.Writer, f Format, doc *problem.Document) {
	if f == JSON || f == YAML || f == NDJSON {
		if raw, err := json.Marshal(doc); err == nil {
			_ = Value(w, f, raw) // standard error is the last place to tell anything
		}
		return
	}
	var b strings.Builder
	if len(doc.Errors) == 0 {
		fmt.Fprintf(&b, "error: %s (%s)\n", Clean(doc.Detail), doc.Code)
		hint(&b, doc.Hint)
	}
	for _, fault := range doc.Errors {
		fmt.Fprintf(&b, "error: %s%s (%s)\n", place(doc.Instance, fault), Clean(fault.Detail), fault.Code)
		hint(&b, fault.Hint)
	}
	if doc.TraceID != "" && doc.Code == problem.CodeInternal {
		hint(&b, "report it with the trace id "+doc.TraceID)
	}
	_, _ = io.WriteString(w, b.String())
}

func hint(b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "       %s\n", Clean(text))
	}
}

// place is where a fault stands, as far as that is known: "x.yaml:3:5: ", "line 1, column 8: ", "/select/0: ".
func place(file string, f problem.Fault) string {
	switch {
	case strings.HasPrefix(file, "/v1/"): // a request, not a file
		return place("", f)
	case f.Span != nil && file != "":
		return fmt.Sprintf("%s:%d:%d: ", file, f.Span.Line, f.Span.Column)
	case f.Span != nil:
		return fmt.Sprintf("line %d, column %d: ", f.Span.Line, f.Span.Column)
	case file != "" && f.Pointer != "":
		return file + ": " + f.Pointer + ": "
	case file != "":
		return file + ": "
	case f.Pointer != "":
		return f.Pointer + ": "
	}
	return ""
}
