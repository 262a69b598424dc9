package expr

import (
	"testing"

	"github.com/pondage/pondage/internal/sql"
)

// FuzzEval: whatever parses is either refused by Check with places inside the text, or evaluates without a panic to a
// column with one value a row.
func FuzzEval(f *testing.F) {
	for _, seed := range append(hotExpressions, "EXTRACT(week FROM ts - 3n)", "NULL IS NULL", "greatest(d, e, 1.5) % 0.3", "split_part(s, 'l', -1)", "format_time(ts, '%V')",
		"CASE i WHEN 1 THEN NULL END", "to_timestamp(i, 'ns')", "round(e, 3) / -e", "json_text(js, '$[1].a')", "s LIKE t ESCAPE ''", "-(-9223372036854775808)") {
		f.Add(seed)
	}
	in := table()
	f.Fuzz(func(t *testing.T, text string) {
		e, err := sql.ParseExpr(text)
		if err != nil {
			return
		}
		typed, err := Check(e, scope())
		if err != nil {
			for _, d := range faultsOf(t, err) {
				if d.Code == "" || d.Span == nil || d.Span.Offset+d.Span.Length > len(text) {
					t.Fatalf("%s: %+v", text, d)
				}
			}
			return
		}
		var out Result
		Compile(typed).Eval(in.Cols, in.Rows(), &out)
		if out.Col.Len() != in.Rows() || out.Col.Type != typed.Type() {
			t.Fatalf("%s: %d rows of %s, want %s", text, out.Col.Len(), out.Col.Type, typed.Type())
		}
	})
}
