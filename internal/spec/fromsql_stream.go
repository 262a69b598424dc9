package spec

import (
	"strings"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

func (c *converter) createStream(st *sql.CreateStream) *node {
	root := newObject().located(st.At)
	c.put(root, "name", name(st.Name))
	c.query(root, st.Query)
	for _, out := range st.Into {
		c.output(c.below(root, "outputs", out.At), out)
	}
	c.options(root, st.With)
	return root
}

func (c *converter) output(outputs *node, out sql.Output) {
	target := newString(out.Target).located(out.At)
	object := newObject().located(out.At)
	if out.Kind == sql.OutputKafka {
		object.set("topic", target)
		c.put(outputs, "kafka", object)
		return
	}
	object.set("table", target)
	c.put(outputs, "postgres", object)
}

// query sets the members that the clauses of a SELECT stand for.
func (c *converter) query(root *node, q *sql.Select) {
	c.put(root, "source", name(q.From))
	items := newArray().located(q.At)
	for _, item := range q.Items {
		items.items = append(items.items, c.item(item))
	}
	c.put(root, "select", items)
	if q.Where != nil {
		c.put(root, "where", c.expr(q.Where))
	}
	if len(q.PartitionBy) > 0 {
		keys := newArray().located(q.PartitionBy[0].Span())
		for _, e := range q.PartitionBy {
			keys.items = append(keys.items, c.expr(e))
		}
		c.put(root, "partition_by", keys)
	}
	if q.Subtable != nil {
		c.put(root, "subtable", c.expr(q.Subtable))
	}
	c.window(root, q)
	c.times(root, q)
}

func (c *converter) item(item sql.SelectItem) *node {
	out := newObject().located(item.At)
	if item.Star {
		out.set("expr", newString("*").located(item.At))
		return out
	}
	out.set("expr", c.expr(item.Expr))
	if item.Alias != nil {
		out.set("as", name(*item.Alias))
	}
	return out
}

func (c *converter) window(root *node, q *sql.Select) {
	if q.Window == nil {
		if q.Timezone != nil {
			c.needsWindow("TIMEZONE", q.Timezone.At)
		}
		if q.TrueFor != nil {
			c.needsWindow("TRUE FOR", q.TrueFor.At)
		}
		return
	}
	at := q.Window.Span()
	w := newObject().located(at)
	kind := func(k WindowKind) { w.set("kind", newString(string(k)).located(at)) }
	switch win := q.Window.(type) {
	case *sql.IntervalWindow:
		kind(WindowInterval)
		w.set("size", duration(win.Size, at))
		if win.Sliding != nil {
			w.set("sliding", duration(*win.Sliding, at))
		}
		if win.Offset != nil {
			w.set("offset", duration(*win.Offset, at))
		}
	case *sql.SessionWindow:
		kind(WindowSession)
		w.set("gap", duration(win.Gap, at))
	case *sql.StateWindow:
		kind(WindowState)
		w.set("col", c.expr(win.Col))
	case *sql.EventWindow:
		kind(WindowEvent)
		w.set("start", c.expr(win.Start))
		w.set("end", c.expr(win.End))
	case *sql.CountWindow:
		kind(WindowCount)
		w.set("count", newInt(win.Count).located(at))
		if win.Step != nil {
			w.set("step", newInt(*win.Step).located(at))
		}
	}
	if q.Timezone != nil {
		w.set("timezone", name(*q.Timezone))
	}
	if q.TrueFor != nil {
		w.set("true_for", duration(q.TrueFor.Duration, q.TrueFor.At))
	}
	c.put(root, "window", w)
}

func (c *converter) needsWindow(clause string, at invalid.Span) {
	c.faults.Add(invalid.Detail{Code: CodeConflict, Span: &at, Message: clause + " needs a window", Hint: "add a window, for example INTERVAL(1h), or leave " + clause + " out"})
}

// times sets the members of the clauses about time.
func (c *converter) times(root *node, q *sql.Select) {
	if q.Watermark != nil {
		c.put(root, "watermark", duration(q.Watermark.Duration, q.Watermark.At))
	}
	if l := q.Lateness; l != nil {
		v := duration(l.Duration, l.At)
		if l.Unbounded {
			v = newString(unbounded).located(l.At)
		}
		c.put(root, "allowed_lateness", v)
	}
	if t := q.Trigger; t != nil {
		text := strings.ToLower(t.Mode.String())
		if t.Mode.TakesDuration() {
			text += " " + t.Every.String()
		}
		c.put(root, "trigger", newString(text).located(t.At))
	}
	if f := q.Fill; f != nil {
		c.put(root, "fill", c.fill(f))
	}
	if h := q.History; h != nil {
		object := newObject().located(h.At)
		if h.From != nil {
			object.set("from", c.literal(h.From))
		}
		c.put(root, "fill_history", object)
	}
}

var fillModes = map[sql.FillMode]FillMode{sql.FillNull: FillNull, sql.FillValue: FillValue, sql.FillPrev: FillPrev, sql.FillNext: FillNext, sql.FillLinear: FillLinear}

func (c *converter) fill(f *sql.FillClause) *node {
	out := newObject().located(f.At)
	out.set("mode", newString(string(fillModes[f.Mode])).located(f.At))
	if len(f.Values) > 0 {
		values := newArray().located(f.At)
		for _, e := range f.Values {
			values.items = append(values.items, c.expr(e))
		}
		out.set("values", values)
	}
	return out
}
