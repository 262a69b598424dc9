package plan

import (
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
	"github.com/pondage/pondage/internal/window"
)

// Names of the window columns that are computed from those of package window.
const (
	columnDuration = "_wduration" // int64, ms
	columnOrdinal  = "_wid"       // int64; 0 for fixed windows: a group has one with a start
)

// windowColumns are the columns that only a windowed stream has.
var windowColumns = []string{window.ColumnStart, window.ColumnEnd, columnDuration, window.ColumnRows, columnOrdinal}

// scalarFunctions are the functions that expressions may call.
var scalarFunctions = func() map[string]bool {
	known := map[string]bool{}
	for _, f := range expr.Functions() {
		known[f.Name] = true
	}
	return known
}()

// starItem is the select item that stands for every column of the source.
const starItem = "*"

// item is a select item on its way into the result.
type item struct {
	pointer string
	name    string
	expr    sql.Expr // as written
	typed   *expr.Typed
}

// selectList types the select items.
func (b *builder) selectList() {
	b.items = b.expandStar()
	if b.plan.Stream.Window != nil {
		b.windowItems(b.items)
		return
	}
	for i, it := range b.items {
		if it.expr != nil {
			b.items[i].typed = b.rowItem(it)
		}
	}
}

// expandStar parses the items; a star becomes the source's columns, which only a stream without window has.
func (b *builder) expandStar() []item {
	var items []item
	for i, it := range b.plan.Stream.Select {
		at := fmt.Sprintf("/select/%d/expr", i)
		if it.Expr != starItem {
			items = append(items, b.newItem(at, it.Expr, it.As))
			continue
		}
		if b.plan.Stream.Window != nil || it.As != "" {
			b.add(CodeUngroupedColumn, at, "name the columns, for example last(x)", "* stands for the columns of single rows: it has no place in a window and no alias")
			continue
		}
		items = append(items, b.newItem(at, ColumnTable, ""), b.newItem(at, ColumnTime, ""))
		for _, c := range b.plan.Source.Columns {
			e := &sql.Column{Name: c.Name, At: invalid.Span{Length: len(starItem), Line: 1, Column: 1}}
			items = append(items, item{pointer: at, name: c.Name, expr: e})
		}
	}
	return items
}

func (b *builder) newItem(pointer string, text spec.Expr, alias string) item {
	e := b.parse(pointer, text)
	name := alias
	if name == "" {
		name = nameOf(e, string(text))
	}
	return item{pointer: pointer, name: name, expr: e}
}

// rowItem types an item of a stream without window.
func (b *builder) rowItem(it item) *expr.Typed {
	if call := firstAggregate(it.expr); call != nil {
		b.addAt(CodeAggregateWithoutWindow, it.pointer, call.At, "add a window, for example INTERVAL(1h)", "%s needs a window", sql.Format(call))
		return nil
	}
	for _, name := range windowColumns {
		if c := findColumn(it.expr, name); c != nil && !b.source.has(name) {
			b.addAt(CodeNeedsWindow, it.pointer, c.At, "add a window, for example INTERVAL(1h)", "%s needs a window", name)
			return nil
		}
	}
	return b.sourceTyped(it.pointer, it.expr, anyType)
}

// findColumn returns the first reference to the column in e, or nil.
func findColumn(e sql.Expr, name string) *sql.Column {
	var found *sql.Column
	sql.Walk(e, func(x sql.Expr) bool {
		if isColumn(x, name) && found == nil {
			found = x.(*sql.Column)
		}
		return found == nil
	})
	return found
}

// windowItems types the items of a windowed stream. All aggregates are gathered first: they are columns of the scope.
func (b *builder) windowItems(items []item) {
	rewritten := make([]sql.Expr, len(items))
	for i, it := range items {
		if it.expr == nil {
			continue
		}
		e, ok := b.onState(it.pointer, it.expr)
		if b.grouped(it.pointer, e) && ok {
			rewritten[i] = e
		}
	}
	s := b.stateScope()
	for i := range items {
		items[i].typed = b.typed(items[i].pointer, rewritten[i], s, anyType)
	}
}

// onState rewrites an expression in terms of what the windows give: a group key and an aggregate become columns, named
// by their canonical text; _wduration and _wid are computed. ok is false when one of the aggregates is wrong.
func (b *builder) onState(pointer string, e sql.Expr) (out sql.Expr, ok bool) {
	ok = true
	out = sql.Replace(e, func(x sql.Expr) (sql.Expr, bool) {
		if call, isCall := x.(*sql.Call); isCall && isAggregate(call) {
			if !b.aggregate(pointer, call) {
				ok = false
				return &sql.Literal{Kind: sql.LiteralNull, At: call.At}, true // its fault is enough
			}
			return &sql.Column{Name: sql.Format(call), At: call.At}, true
		}
		if b.isKey(x) >= 0 {
			return &sql.Column{Name: sql.Format(x), At: x.Span()}, true
		}
		return computed(x)
	})
	return out, ok
}

// computed returns the expression behind _wduration and _wid.
func computed(x sql.Expr) (sql.Expr, bool) {
	c, ok := x.(*sql.Column)
	if !ok {
		return nil, false
	}
	switch c.Name {
	case columnDuration:
		return &sql.Binary{Op: sql.BinarySub, L: &sql.Column{Name: window.ColumnEnd, At: c.At}, R: &sql.Column{Name: window.ColumnStart, At: c.At}, At: c.At}, true
	case columnOrdinal:
		return &sql.Literal{Kind: sql.LiteralInt, At: c.At}, true
	}
	return nil, false
}

// grouped refuses columns of single rows: a result row stands for many.
func (b *builder) grouped(pointer string, e sql.Expr) bool {
	ok := true
	sql.Walk(e, func(x sql.Expr) bool {
		if call, isCall := x.(*sql.Call); isCall && !scalarFunctions[call.Name] {
			return false // an unknown function is the fault, and will be found
		}
		if c, isColumn := x.(*sql.Column); isColumn && b.isKey(c) < 0 {
			ok = b.groupedColumn(pointer, c) && ok
		}
		return true
	})
	return ok
}

func (b *builder) groupedColumn(pointer string, c *sql.Column) bool {
	if b.source.has(c.Name) {
		b.addAt(CodeUngroupedColumn, pointer, c.At, fmt.Sprintf("use an aggregate such as last(%s), or add it to partition_by", c.Name), "%s is neither a group key nor inside an aggregate", c.Name)
		return false
	}
	// A misspelt column of the source is not among the columns of the result: look for it here.
	near := invalid.Nearest(c.Name, slices.Concat(b.source.shown, windowColumns))
	if _, isAggregate := b.aggs[c.Name]; isAggregate || !b.source.has(near) {
		return true
	}
	b.addAt(expr.CodeUnknownColumn, pointer, c.At, "did you mean "+near+"?", "unknown column %q", c.Name)
	return false
}

// stateScope is the scope of the result side: what window.Schema has.
func (b *builder) stateScope() *scope {
	s := b.newScope()
	for i, e := range b.keyExprs {
		if e != nil && b.plan.Keys[i].Expr != nil {
			s.add(sql.Format(e), i, b.plan.Keys[i].Expr.Type())
		}
	}
	n := len(b.keyExprs)
	s.add(window.ColumnStart, n, block.Timestamp)
	s.add(window.ColumnEnd, n+1, block.Timestamp)
	s.add(window.ColumnRows, n+2, block.Int64)
	for text, i := range b.aggs {
		s.addHidden(text, n+3+i, b.plan.Aggs[i].Out())
	}
	s.shown = append(s.shown, columnDuration, columnOrdinal)
	return s
}

// StateSchema is the schema of the batches that the aggregating state emits.
func (p *Plan) StateSchema() block.Schema {
	return window.Schema(window.StateConfig{Keys: p.KeySchema(), Aggs: p.Aggs})
}
