package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/sql"
)

// keyColumn is the name of group key i in partials and emissions.
func keyColumn(i int) string { return "_k" + strconv.Itoa(i) }

// keys types the group keys.
func (b *builder) keys() {
	for i, text := range b.plan.Stream.PartitionBy {
		at := fmt.Sprintf("/partition_by/%d", i)
		e := b.parse(at, text)
		typed := b.sourceTyped(at, e, anyType)
		if typed != nil && typed.Type().Kind == block.KindJSON {
			b.addAt(expr.CodeTypeClash, at, e.Span(), "cast it: CAST("+sql.Format(e)+" AS string)", "json has no equality, it cannot be a group key")
			typed = nil
		}
		if e != nil && b.isKey(e) >= 0 {
			b.addAt(CodeDuplicateKey, at, e.Span(), "leave one out", "%s is a group key already", sql.Format(e))
		}
		b.keyExprs = append(b.keyExprs, e)
		b.plan.Keys = append(b.plan.Keys, Key{Text: nameOf(e, string(text)), Expr: typed})
	}
	b.plan.ByTable = len(b.keyExprs) == 1 && isColumn(b.keyExprs[0], ColumnTable)
}

// isKey returns the index of the group key with the same tree as e, or −1.
func (b *builder) isKey(e sql.Expr) int {
	text := sql.Format(e)
	for i, k := range b.keyExprs {
		if k != nil && sql.Format(k) == text {
			return i
		}
	}
	return -1
}

// replaceKeys puts a column reference where e computes a group key. The column's name is the key's canonical text.
func (b *builder) replaceKeys(e sql.Expr) sql.Expr {
	return sql.Replace(e, func(x sql.Expr) (sql.Expr, bool) {
		if i := b.isKey(x); i >= 0 {
			return &sql.Column{Name: sql.Format(x), At: x.Span()}, true
		}
		return nil, false
	})
}

// nameOf is the name of an expression that has no alias: a column's own, else the text as it was written.
func nameOf(e sql.Expr, text string) string {
	if c, ok := e.(*sql.Column); ok {
		return c.Name
	}
	return strings.TrimSpace(text)
}

func isColumn(e sql.Expr, name string) bool {
	c, ok := e.(*sql.Column)
	return ok && c.Name == name
}
