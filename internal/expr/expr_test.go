package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/pondage/pondage/internal/sql"
)

// TestScripts evaluates one expression a line over the rows of table: `eval` prints the type and the values ("!code" is a
// row error), `check` prints the faults with the text they stand at.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			scope := testScope{SchemaScope(tableSchema), time.UTC}
			if d.HasArg("zone") {
				var name string
				d.ScanArgs(t, "zone", &name)
				zone, err := time.LoadLocation(name)
				if err != nil {
					t.Fatal(err)
				}
				scope.zone = zone
			}
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				if d.Cmd == "check" {
					out.WriteString(checked(t, line, scope))
					continue
				}
				fmt.Fprintf(&out, "%s: %s\n", compile(t, line, scope).Type(), evalText(t, line, scope, table()))
			}
			return out.String()
		})
	})
}

func checked(t *testing.T, text string, scope Scope) string {
	t.Helper()
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	typed, err := Check(e, scope)
	if err == nil {
		return typed.Type().String() + "\n"
	}
	var out strings.Builder
	for _, d := range faultsOf(t, err) {
		fmt.Fprintf(&out, "%s at «%s»: %s (%s)\n", d.Code, sql.Text(text, *d.Span), d.Message, d.Hint)
	}
	return out.String()
}
