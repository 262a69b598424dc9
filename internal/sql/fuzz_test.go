package sql

import (
	"errors"
	"testing"

	"github.com/pondage/pondage/internal/invalid"
)

// FuzzParse: nothing panics, every error has a place inside the text, and what Format writes parses to the same tree.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a + b * -c / 2.50 % 1e3", "NOT a = 'x''y' AND b IN (1, 2) OR c NOT BETWEEN 1 AND 2", "CASE a WHEN 1 THEN '' ELSE null END",
		`"A b".c`, "x::decimal(3,1) || CAST(y AS json)", "count(DISTINCT a) + count(*)", "a LIKE '%' ESCAPE '!' IS NULL", "-(-1) - - 1 -- x",
		"CREATE STREAM s INTO POSTGRES a.b, KAFKA 'c' WITH (x.y = 1) AS SELECT *, a b FROM s PARTITION BY c INTERVAL(1d,-1h) SLIDING(1h)",
		"SELECT a FROM s EVENT_WINDOW START WITH a END WITH b TRUE FOR 1s FILL(VALUE, 1) TRIGGER PERIOD 1m", "EXPLAIN SELECT a FROM s", "/* /* */",
		"timestamp '2026' + 1h", "extract(year from ts)", "1.::int", ".5.5", "\ufeffa",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseStatement(text); err != nil {
			hasPlace(t, text, err)
		}
		e, err := ParseExpr(text)
		if err != nil {
			hasPlace(t, text, err)
			return
		}
		if Text(text, e.Span()) == "" {
			t.Fatalf("%q: the span %+v covers nothing", text, e.Span())
		}
		canonical := Format(e)
		again, err := ParseExpr(canonical)
		if err != nil {
			if len(canonical) > MaxLength {
				return // CAST(…) is longer than ::
			}
			t.Fatalf("%q formats to %q, which does not parse: %v", text, canonical, err)
		}
		if got := Format(again); got != canonical || shape(again) != shape(e) {
			t.Fatalf("%q formats to %q, which parses to %q", text, canonical, got)
		}
	})
}

func hasPlace(t *testing.T, text string, err error) {
	t.Helper()
	var bad *invalid.Error
	if !errors.As(err, &bad) || len(bad.Details) != 1 || bad.Details[0].Span == nil {
		t.Fatalf("%q: error %v has no place", text, err)
	}
	at := bad.Details[0].Span
	if at.Offset < 0 || at.Offset+at.Length > len(text) || at.Line < 1 || at.Column < 1 {
		t.Fatalf("%q: place %+v", text, at)
	}
}

// shape is the structure of a tree by its node types, which two different trees with one text would differ in.
func shape(e Expr) string {
	out := ""
	Walk(e, func(x Expr) bool {
		out += nodeName(x)
		for range Children(x) {
			out += "("
		}
		return true
	})
	return out
}

func nodeName(e Expr) string {
	switch e := e.(type) {
	case *Literal:
		return "L" + string('0'+rune(e.Kind))
	case *Binary:
		return e.Op.String()
	case *Unary:
		return "U" + string('0'+rune(e.Op))
	case *Column:
		return "C"
	case *Call:
		return "F"
	}
	return "X"
}
