package vectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

// The members of a record that are no columns of the case.
const (
	memberTable = "_table"
	memberTime  = "_time"
)

// tableTTL is how late a row ahead of its own table may be: the vectors know no bound, so it is longer than any of them.
const tableTTL = "36500d"

// Specs are a case as documents for the product.
type Specs struct {
	Source map[string]any
	Stream map[string]any
}

// Specs returns the source and the stream of a case. The name is that of both and of the topic.
func (c *Case) Specs(name string) (Specs, error) {
	source := map[string]any{
		"name": name, "format": "json", "kafka": map[string]any{"topic": name},
		"table": memberTable, "event_time": memberTime, "max_future": nil, "columns": c.columns(),
	}
	items, err := c.items()
	if err != nil {
		return Specs{}, err
	}
	stream := map[string]any{
		"name": name, "source": name, "start": "earliest", "select": items, "window": c.window(),
		"trigger": string(c.Trigger), "watermark": ms(c.Options.WatermarkMs),
		// The end of the input is no end of the stream: silence closes nothing.
		"close_idle_after": "0s",
	}
	if c.Options.IgnoreExpired != 0 {
		stream["late_by"], stream["table_ttl"] = "table", tableTTL
	} else {
		stream["allowed_lateness"] = "unbounded"
	}
	if len(c.PartitionBy) > 0 {
		stream["partition_by"] = c.PartitionBy
	}
	if c.Where != nil {
		if stream["where"], err = c.Where.expr(); err != nil {
			return Specs{}, err
		}
	}
	return Specs{source, stream}, nil
}

func ms(n int64) string { return strconv.FormatInt(n, 10) + "ms" }

func (c *Case) window() map[string]any {
	w := map[string]any{"kind": kindInterval, "size": ms(c.Window.SizeMs)}
	if s := c.Window.SlidingMs; s != 0 && s != c.Window.SizeMs {
		w["sliding"] = ms(s)
	}
	if c.Window.OffsetMs != 0 {
		w["offset"] = ms(c.Window.OffsetMs)
	}
	return w
}

// columns declares the columns of all inputs and the tags of all tables, typed by the literals of their values.
func (c *Case) columns() []any {
	types := map[string]string{}
	for i := range c.Input {
		maps.Copy(types, widen(types, c.Input[i].Values))
	}
	for _, tags := range c.Tables {
		maps.Copy(types, widen(types, tags))
	}
	var columns []any
	for _, name := range slices.Sorted(maps.Keys(types)) {
		columns = append(columns, map[string]any{"name": name, "type": types[name]})
	}
	return columns
}

// typeNames are the types of columns, by what their values are.
const (
	typeInt    = "int64"
	typeFloat  = "float64"
	typeString = "string"
	typeBool   = "bool"
)

// widen returns the types of the columns after the values of one more row: a column is float64 when any of its numbers has
// a point or an exponent, and int64 when it has no value at all.
func widen(known map[string]string, values map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		t := known[name]
		switch v := v.(type) {
		case json.Number:
			if strings.ContainsAny(v.String(), ".eE") || t == typeFloat {
				t = typeFloat
			} else {
				t = typeInt
			}
		case string:
			t = typeString
		case bool:
			t = typeBool
		}
		if t == "" {
			t = typeInt
		}
		out[name] = t
	}
	return out
}

func (c *Case) items() ([]any, error) {
	var items []any
	for _, it := range c.Select {
		item := map[string]any{"expr": it.Fn}
		switch {
		case it.Fn == "":
			return nil, fmt.Errorf("select item %q has no function", it.As)
		case it.Col == "*":
			item["expr"] = it.Fn + "(*)"
		case it.Col != "":
			item["expr"] = it.Fn + "(" + quoted(it.Col) + ")"
		}
		if it.As != "" {
			item["as"] = it.As
		}
		items = append(items, item)
	}
	return items, nil
}

// expr is the condition as text.
func (w *Condition) expr() (string, error) {
	op := w.Op
	switch op {
	case "==":
		op = "="
	case "!=":
		op = "<>"
	}
	switch v := w.Value.(type) {
	case json.Number:
		return fmt.Sprintf("%s %s %s", quoted(w.Col), op, v), nil
	case string:
		return fmt.Sprintf("%s %s '%s'", quoted(w.Col), op, strings.ReplaceAll(v, "'", "''")), nil
	case bool:
		return fmt.Sprintf("%s %s %t", quoted(w.Col), op, v), nil
	case nil:
		return quoted(w.Col) + " IS NULL", nil
	}
	return "", fmt.Errorf("where: a value of type %T", w.Value)
}

// quoted is a column's name as an identifier that is not folded.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Lines are the case's records as they come from the source, in order of arrival.
func (c *Case) Lines() ([][]byte, error) {
	lines := make([][]byte, 0, len(c.Input))
	for i := range c.Input {
		r := &c.Input[i]
		members := maps.Clone(r.Values)
		maps.Copy(members, c.Tables[r.Table])
		members[memberTable], members[memberTime] = r.Table, r.TimeMs
		line, err := json.Marshal(members)
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Plan takes the documents through the real planner.
func (s Specs) Plan(env plan.Env) (*plan.Plan, error) {
	source, err := parse(s.Source, spec.ParseSource)
	if err != nil {
		return nil, err
	}
	stream, err := parse(s.Stream, spec.ParseStream)
	if err != nil {
		return nil, err
	}
	return plan.Build(source, stream, env)
}

func parse[T any](document map[string]any, read func([]byte) (*T, error)) (*T, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return read(text)
}
