package plan

import (
	"strings"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
	"github.com/pondage/pondage/internal/tablehash"
)

// Build understands a stream over its source. Both specs come from package spec, which has checked their form. Errors
// are *invalid.Error with everything that is wrong; a source that is wrong itself is reported alone, at /source.
func Build(src *spec.Source, st *spec.Stream, env Env) (*Plan, error) {
	b := &builder{
		faults: faults{places: st.Places()},
		plan:   &Plan{Env: env, Source: src, Stream: st},
		aggs:   map[string]int{},
		args:   map[string]int{},
	}
	if !b.input() {
		return nil, b.err()
	}
	b.supported()
	b.zone()
	b.window()
	b.sourceScope()
	if st.Where != "" {
		b.plan.Where = b.sourceExpr("/where", st.Where, block.Bool)
	}
	b.keys()
	b.subtable()
	b.selectList()
	b.settings()
	if err := b.err(); err != nil {
		return nil, err
	}
	b.result()
	return b.plan, b.err()
}

// builder holds what is known while a plan is made.
type builder struct {
	faults
	plan   *Plan
	source *scope

	keyExprs []sql.Expr // the group keys, for the select list to be matched with
	items    []item
	aggs     map[string]int // canonical text of an aggregate → index into plan.Aggs
	args     map[string]int // canonical text of an argument → index into plan.Args
}

// input understands the source; false when there is nothing to go on with.
func (b *builder) input() bool {
	in, err := BuildInput(b.plan.Source)
	if err != nil {
		b.add(CodeInvalidSource, "/source", "mend the source first", "the source %s cannot be read by a stream: %s", b.plan.Source.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return false
	}
	if b.plan.Stream.Source != b.plan.Source.Name {
		b.add(CodeInvalidSource, "/source", "hand in the source that the stream names", "the stream reads %s, found the source %s", b.plan.Stream.Source, b.plan.Source.Name)
		return false
	}
	b.plan.Input = in
	return true
}

// zone loads the stream's time zone.
func (b *builder) zone() {
	b.plan.zone = time.UTC
	w := b.plan.Stream.Window
	if w == nil || w.Timezone == "" {
		return
	}
	zone, err := b.plan.Env.zone(w.Timezone)
	if err != nil {
		b.add(CodeUnknownTimezone, "/window/timezone", "an IANA name such as America/New_York", "%v", err)
		return
	}
	b.plan.zone = zone
}

// sourceScope makes the scope of the source side.
func (b *builder) sourceScope() {
	b.source = b.newScope()
	for i, f := range b.plan.Input.Schema {
		if f.Name == ColumnPartition || f.Name == ColumnOffset {
			b.source.addHidden(f.Name, i, f.Type)
			continue
		}
		b.source.add(f.Name, i, f.Type)
	}
}

// sourceExpr types an expression of the source side.
func (b *builder) sourceExpr(pointer string, text spec.Expr, want block.Type) *expr.Typed {
	return b.sourceTyped(pointer, b.parse(pointer, text), want)
}

// sourceTyped types a tree of the source side. _topic is a constant of the source; aggregates have no place there.
func (b *builder) sourceTyped(pointer string, e sql.Expr, want block.Type) *expr.Typed {
	if e == nil {
		return nil
	}
	if call := firstAggregate(e); call != nil {
		b.addAt(expr.CodeAggregate, pointer, call.At, "aggregates belong in the select list of a windowed stream", "%s is an aggregate", sql.Format(call))
		return nil
	}
	e = sql.Replace(e, func(x sql.Expr) (sql.Expr, bool) {
		if c, ok := x.(*sql.Column); ok && c.Name == ColumnTopic {
			return &sql.Literal{Kind: sql.LiteralString, Text: b.topic(), At: c.At}, true
		}
		return nil, false
	})
	return b.typed(pointer, e, b.source, want)
}

func (b *builder) topic() string {
	if b.plan.Source.Kafka == nil {
		return ""
	}
	return b.plan.Source.Kafka.Topic
}

// subtable types the expression that names the groups' tables, over the group keys.
func (b *builder) subtable() {
	st := b.plan.Stream
	affix := st.Outputs.Affix()
	b.plan.Affix = tablehash.Affix{Prefix: int(affix.HashPrefix), Suffix: int(affix.HashSuffix)}
	if st.Subtable == "" {
		return
	}
	keys := b.newScope()
	for i, e := range b.keyExprs {
		if e == nil || b.plan.Keys[i].Expr == nil {
			return // the key's own fault is enough
		}
		keys.add(sql.Format(e), i, b.plan.Keys[i].Expr.Type())
	}
	e := b.parse("/subtable", st.Subtable)
	if e == nil {
		return
	}
	if call := firstAggregate(e); call != nil {
		b.addAt(expr.CodeAggregate, "/subtable", call.At, "name the table after the group keys", "%s is an aggregate", sql.Format(call))
		return
	}
	b.plan.Subtable = b.typed("/subtable", b.replaceKeys(e), keys, block.String)
}
