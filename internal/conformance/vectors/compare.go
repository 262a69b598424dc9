package vectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/plan"
)

// tolerance is how far a float may be from the case's, relative: the vectors give rounded decimals.
const tolerance = 1e-9

// row is a result or an expected row, by column. A value is nil, bool, string, *big.Rat (integers, decimals, times in ms)
// or float64.
type row map[string]any

// Compare says how the rows that the product has made differ from the case's answer; "" when they do not. The rows are JSON
// in the form of INTERFACE §3.
func (c *Case) Compare(result plan.ResultSchema, rows [][]byte) (string, error) {
	types := map[string]block.Type{}
	for _, col := range result.Columns {
		types[col.Name] = col.Type
	}
	want, err := index(result.KeyNames(), c.Expected, func(r map[string]any) (row, error) { return expectedRow(types, r) })
	if err != nil {
		return "", fmt.Errorf("expected rows: %w", err)
	}
	got, err := index(result.KeyNames(), rows, func(text []byte) (row, error) { return resultRow(types, text) })
	if err != nil {
		return "", fmt.Errorf("result rows: %w", err)
	}
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		faults = append(faults, differences(key, want[key], got[key])...)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == nil {
			faults = append(faults, fmt.Sprintf("%s: extra row %s", key, show(got[key])))
		}
	}
	return strings.Join(faults, "; "), nil
}

// index reads rows and finds them by their natural key.
func index[T any](keys []string, from []T, read func(T) (row, error)) (map[string]row, error) {
	rows := map[string]row{}
	for _, f := range from {
		r, err := read(f)
		if err != nil {
			return nil, err
		}
		var key []string
		for _, k := range keys {
			v, ok := r[k]
			if !ok {
				return nil, fmt.Errorf("no column %q in %s", k, show(r))
			}
			key = append(key, k+"="+text(v))
		}
		id := strings.Join(key, " ")
		if rows[id] != nil {
			return nil, fmt.Errorf("two rows with %s", id)
		}
		rows[id] = r
	}
	return rows, nil
}

func differences(key string, want, got row) []string {
	if got == nil {
		return []string{fmt.Sprintf("%s: missing, want %s", key, show(want))}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		v, ok := got[name]
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: no column %q", key, name))
		} else if !equal(want[name], v) {
			faults = append(faults, fmt.Sprintf("%s: %s is %s, want %s", key, name, text(v), text(want[name])))
		}
	}
	return faults
}

func equal(want, got any) bool {
	switch w := want.(type) {
	case *big.Rat:
		g, ok := got.(*big.Rat)
		return ok && w.Cmp(g) == 0
	case float64:
		g, ok := got.(float64)
		return ok && (w == g || math.IsNaN(w) && math.IsNaN(g) || math.Abs(w-g) <= tolerance*math.Max(math.Abs(w), math.Abs(g)))
	}
	return want == got
}

// expectedRow reads a row of the case's answer: plain numbers, times in milliseconds.
func expectedRow(types map[string]block.Type, members map[string]any) (row, error) {
	r := row{}
	for name, v := range members {
		n, isNumber := v.(json.Number)
		switch {
		case !isNumber:
			r[name] = v
		case types[name].Kind == block.KindFloat64:
			f, err := n.Float64()
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", name, err)
			}
			r[name] = f
		default:
			rat, ok := new(big.Rat).SetString(n.String())
			if !ok {
				return nil, fmt.Errorf("column %q: %s is no number", name, n)
			}
			r[name] = rat
		}
	}
	return r, nil
}

// resultRow reads a row in the form of INTERFACE §3.
func resultRow(types map[string]block.Type, text []byte) (row, error) {
	var members map[string]any
	if err := readJSON(text, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	r := row{}
	for name, v := range members {
		value, err := resultValue(types[name], v)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		r[name] = value
	}
	return r, nil
}

func resultValue(t block.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch t.Kind {
	case block.KindInt64, block.KindDecimal:
		s, _ := v.(string)
		if rat, ok := new(big.Rat).SetString(s); ok {
			return rat, nil
		}
		return nil, fmt.Errorf("%v of type %T is no %s", v, v, t)
	case block.KindFloat64:
		return strconv.ParseFloat(fmt.Sprint(v), 64)
	case block.KindTimestamp:
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v))
		return new(big.Rat).SetInt64(at.UnixMilli()), err
	}
	return v, nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case *big.Rat:
		return v.RatString()
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

func show(r row) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, name+"="+text(r[name]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}
