package sqldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// parameters stands for a type's parameters.
var parameters = strings.NewReplacer("(p,s)", "(10,2)")

func TestTypesAreAllThereAre(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range rows(t, "Types", "literals") {
		name := code(r["type"])
		names = append(names, name)
		typ, err := block.ParseType(parameters.Replace(name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, literal := range codes(r["literals"]) {
			if e, err := sql.ParseExpr(literal); err != nil {
				t.Error(err)
			} else if _, got, ok := evaluate(e); !ok || got.Kind != typ.Kind {
				t.Errorf("%s is %s, the page says %s", literal, got, name)
			}
		}
		for _, other := range codes(r["other names in SQL"]) {
			if e, err := sql.ParseExpr("NULL::" + parameters.Replace(other)); err != nil {
				t.Error(err)
			} else if got := e.(*sql.Cast).Type; got != typ {
				t.Errorf("%s is %s, the page says %s", other, got, name)
			}
		}
	}
	if !slices.Equal(names, block.TypeNames()) {
		t.Errorf("the page has the types %v, there are %v", names, block.TypeNames())
	}
}

func TestCastsAreAllThereAre(t *testing.T) {
	t.Parallel()
	to := map[string][]string{}
	for _, r := range rows(t, "Casts", "from") {
		to[code(r["from"])] = codes(r["to"])
	}
	name := func(of block.Type) string {
		name, _, _ := strings.Cut(of.String(), "(")
		return name
	}
	for _, from := range typesOf {
		for _, target := range append(slices.Clone(typesOf), block.Decimal(12, 3)) {
			if target == from {
				continue
			}
			null := &sql.Cast{X: &sql.Literal{Kind: sql.LiteralNull}, Type: from}
			_, _, can := evaluate(&sql.Cast{X: null, Type: target})
			said := slices.Contains(to[name(from)], name(target))
			if can != said && from.Kind != target.Kind || !can && from.Kind == target.Kind {
				t.Errorf("%s to %s: can be cast %t, the page says %t", from, target, can, said)
			}
		}
	}
}

func TestUnitsAreAllThereAre(t *testing.T) {
	t.Parallel()
	var names, all []string
	for u := sql.UnitMillisecond; u <= sql.UnitYear; u++ {
		all = append(all, u.String())
	}
	for _, r := range rows(t, "Durations and zones", "unit") {
		names = append(names, code(r["unit"]))
		d, err := sql.ParseDuration("1" + code(r["unit"]))
		if err != nil {
			t.Error(err)
			continue
		}
		ms, err := d.FixedMs()
		if got := strconv.FormatInt(ms, 10); err == nil && got != code(r["in milliseconds"]) || err != nil && r["in milliseconds"] != "" {
			t.Errorf("1%s is %d ms (%v), the page says %s", r["unit"], ms, err, r["in milliseconds"])
		}
	}
	if !slices.Equal(names, all) {
		t.Errorf("the page has the units %v, there are %v", names, all)
	}
}

func TestLimitsOfTheTextAreOnThePage(t *testing.T) {
	t.Parallel()
	limits := fmt.Sprintf("At most %d KiB of text, %d levels of nesting, %d,%03d terms and operators.", sql.MaxLength>>10, sql.MaxNesting, sql.MaxNodes/1000, sql.MaxNodes%1000)
	if !strings.Contains(section(t, "Text"), limits) {
		t.Errorf("the page does not say: %s", limits)
	}
}
