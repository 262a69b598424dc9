package pgtable

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/block"
)

// The columns that Pondage adds to a result table.
const (
	// CheckpointColumn is the id of the last trigger that the row's sink task had passed; 0 before the first one.
	CheckpointColumn = "_cp"
	// VGroupColumn is the vgroup of the row's sink task.
	VGroupColumn = "_vgroup"
	// WrittenColumn is when the row was last written, by the database's clock. Only tables with a Retain have it.
	WrittenColumn = "_written"
)

// Table is a result table: where it is, its columns in order and its natural key.
type Table struct {
	Schema  string // Postgres schema; "" = the first of the search path
	Name    string
	Columns block.Schema
	Key     []string // names of columns
	// Retain is how long a row is kept after it was last written (Expire); 0: for ever, as in a user's table.
	Retain time.Duration
	// Delivery says how results get into it, and so what stands beside it.
	Delivery Delivery
}

// Delivery is how results get into a table (DESIGN §9).
type Delivery uint8

const (
	// Upsert writes results as they come; what they replace is kept in <table>__before (Restore).
	Upsert Delivery = iota
	// Transactional stages results in <table>__stage until their checkpoint is complete (Publish).
	Transactional
)

// besideIdent is the table that stands beside this one; "" where none does.
func (t *Table) besideIdent() string {
	switch {
	case t.Delivery == Transactional:
		return t.stageIdent()
	case len(t.Key) > 0:
		return t.beforeIdent()
	}
	return "" // rows without a key are never replaced
}

// besideSQL returns the statements that make it.
func (t *Table) besideSQL() []string {
	if t.Delivery == Transactional {
		return t.stageSQL()
	}
	return t.beforeSQL()
}

// Of returns the table with a name as specs write it, `table` or `schema.table`.
func Of(name string, columns block.Schema, key []string) *Table {
	t := &Table{Name: name, Columns: columns, Key: key}
	if schema, table, qualified := strings.Cut(name, "."); qualified {
		t.Schema, t.Name = schema, table
	}
	return t
}

// ident quotes the table's name.
func (t *Table) ident() string {
	if t.Schema == "" {
		return pgx.Identifier{t.Name}.Sanitize()
	}
	return pgx.Identifier{t.Schema, t.Name}.Sanitize()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return strings.Join(out, ", ")
}

// pgType is the Postgres type of a column (INTERFACE §3).
func pgType(t block.Type) string {
	switch t.Kind {
	case block.KindBool:
		return "boolean"
	case block.KindInt64:
		return "bigint"
	case block.KindFloat64:
		return "double precision"
	case block.KindDecimal:
		return "numeric"
	case block.KindString:
		return "text"
	case block.KindTimestamp:
		return "timestamp with time zone"
	case block.KindJSON:
		return "jsonb"
	case block.KindInvalid:
	}
	panic("pgtable: column without a type")
}

// createSQL returns the statements that make the table. Its unique constraint treats nulls as equal: a null key is one
// group (trap T35).
func (t *Table) createSQL() []string {
	var cols strings.Builder
	for _, f := range t.Columns {
		fmt.Fprintf(&cols, "%s %s, ", quote(f.Name), pgType(f.Type))
	}
	fmt.Fprintf(&cols, "%s bigint NOT NULL, %s integer NOT NULL", CheckpointColumn, VGroupColumn)
	if t.Retain > 0 {
		fmt.Fprintf(&cols, ", %s timestamptz NOT NULL DEFAULT now()", WrittenColumn)
	}
	stmts := []string{fmt.Sprintf("CREATE TABLE %s (%s)", t.ident(), cols.String())}
	if t.Retain > 0 {
		stmts = append(stmts, t.retainSQL()...)
	}
	if len(t.Key) > 0 {
		stmts = append(stmts, fmt.Sprintf("ALTER TABLE %s ADD UNIQUE NULLS NOT DISTINCT (%s)", t.ident(), quoteAll(t.Key)))
	}
	return append(stmts, fmt.Sprintf("CREATE INDEX ON %s (%s, %s)", t.ident(), VGroupColumn, CheckpointColumn))
}
