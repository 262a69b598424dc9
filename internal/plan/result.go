package plan

import (
	"strings"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
	"github.com/pondage/pondage/internal/window"
)

// Role says what a result column is in the natural key.
type Role uint8

// The roles. Only values are not part of the natural key.
const (
	RoleValue  Role = iota
	RoleGroup       // a group key
	RoleWindow      // a window column of the natural key
	RoleOrigin      // topic, partition, offset of a stream without window
)

var roleNames = [...]string{"value", "group", "window", "origin"}

// String returns the role's name in the API.
func (r Role) String() string { return roleNames[r] }

// ResultColumn is a column of the result.
type ResultColumn struct {
	Name string
	Type block.Type
	Role Role
}

// ResultSchema is what a result row looks like (INTERFACE §3).
type ResultSchema struct {
	Columns []ResultColumn
	// Key lists the columns of the natural key: group keys first, in the order of PARTITION BY.
	Key []int
}

// Fields is the schema of result batches.
func (r ResultSchema) Fields() block.Schema {
	s := make(block.Schema, len(r.Columns))
	for i, c := range r.Columns {
		s[i] = block.Field{Name: c.Name, Type: c.Type}
	}
	return s
}

// KeyNames are the names of the natural key's columns.
func (r ResultSchema) KeyNames() []string {
	names := make([]string, len(r.Key))
	for i, c := range r.Key {
		names[i] = r.Columns[c].Name
	}
	return names
}

const (
	maxColumnName = 63 // bytes; Postgres cuts identifiers there
	columnCp      = "_cp"
	columnVGroup  = "_vgroup"
	columnWritten = "_written"
)

// keyPart is a column that the natural key asks for.
type keyPart struct {
	expr sql.Expr
	name string // when it was not selected
	role Role
}

// result orders the columns: parts of the natural key that were not selected come first.
func (b *builder) result() {
	parts := b.naturalKey()
	var front []item
	key := make([]int, len(parts)) // index into items, or into front − len(parts)
	for i, part := range parts {
		key[i] = b.selected(part.expr)
		if key[i] < 0 {
			key[i] = len(front) - len(parts)
			front = append(front, b.unselected(part))
		}
	}
	for i := range key {
		if key[i] < 0 {
			key[i] += len(parts)
		} else {
			key[i] += len(front)
		}
	}
	b.items = append(front, b.items...)
	b.plan.Result.Key = key
	b.columns(parts)
}

// naturalKey lists the parts of the natural key (DESIGN §9). A fixed window is named by its group and start.
func (b *builder) naturalKey() []keyPart {
	column := func(name string, role Role) keyPart { return keyPart{&sql.Column{Name: name}, name, role} }
	if !b.plan.Windowed() {
		return []keyPart{column(ColumnTopic, RoleOrigin), column(ColumnPartition, RoleOrigin), column(ColumnOffset, RoleOrigin)}
	}
	var parts []keyPart
	for i, e := range b.keyExprs {
		parts = append(parts, keyPart{e, b.plan.Keys[i].Text, RoleGroup})
	}
	return append(parts, column(window.ColumnStart, RoleWindow))
}

// selected returns the index of the first item that is exactly the expression, or −1.
func (b *builder) selected(e sql.Expr) int {
	text := sql.Format(e)
	for i, it := range b.items {
		if sql.Format(it.expr) == text {
			return i
		}
	}
	return -1
}

// unselected makes the item of a part of the natural key that the user did not select.
func (b *builder) unselected(part keyPart) item {
	it := item{pointer: "/select", name: part.name, expr: part.expr}
	if b.plan.Windowed() {
		e, _ := b.onState(it.pointer, part.expr)
		it.typed = b.typed(it.pointer, e, b.stateScope(), anyType)
	} else {
		it.typed = b.sourceTyped(it.pointer, part.expr, anyType)
	}
	return it
}

// columns fills in the result's columns and checks their names.
func (b *builder) columns(parts []keyPart) {
	seen := map[string]bool{}
	for _, it := range b.items {
		b.checkColumnName(it, seen)
		b.plan.Select = append(b.plan.Select, it.typed)
		b.plan.Result.Columns = append(b.plan.Result.Columns, ResultColumn{Name: it.name, Type: it.typed.Type()})
	}
	for i, c := range b.plan.Result.Key {
		b.plan.Result.Columns[c].Role = parts[i].role
	}
}

func (b *builder) checkColumnName(it item, seen map[string]bool) {
	pointer := strings.TrimSuffix(it.pointer, "/expr")
	switch {
	case seen[it.name]:
		b.add(CodeDuplicateColumn, pointer, "give it another name with as", "the result has two columns %q", it.name)
	case it.name == columnCp || it.name == columnVGroup || it.name == columnWritten:
		b.add(CodeInvalidColumnName, pointer, "give it another name with as", "the column name %q is reserved", it.name)
	case it.name == "" || len(it.name) > maxColumnName:
		b.add(CodeInvalidColumnName, pointer, "give it a name with as", "the column name %q has %d bytes, want 1 to %d", it.name, len(it.name), maxColumnName)
	case !utf8.ValidString(it.name) || strings.ContainsRune(it.name, 0):
		b.add(CodeInvalidColumnName, pointer, "give it a name with as", "the column name %q is no text", it.name)
	}
	seen[it.name] = true
}
