package pgtable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// Order is one column to sort by. Nulls come last in either direction.
type Order struct {
	Column     string
	Descending bool
}

// Query asks for result rows.
type Query struct {
	// Filter is a condition over the result columns, already checked (package expr); nil: none.
	Filter sql.Expr
	// Order is completed by the natural key, so that it is total.
	Order []Order
	// Limit bounds the rows; 0: all.
	Limit int
	// After is the cursor: rows behind the one it was made of (Cursor). "" begins at the first.
	After string
}

// fetchRows is how many rows one batch of a streamed result has: a few hundred kilobytes.
const fetchRows = 2048

// Read calls yield with batches of rows, in order, until it returns an error, which is returned. The batches have the
// table's columns and are reused.
//
// Errors: an *invalid.Error for a filter or cursor that cannot be used; otherwise Postgres's.
func (t *Table) Read(ctx context.Context, db DB, q Query, yield func(*block.Batch) error) error {
	text, args, err := t.querySQL(q)
	if err != nil {
		return err
	}
	rows, err := db.Query(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.ident(), err)
	}
	defer rows.Close()
	batch := block.NewBatch(t.Columns, fetchRows)
	scan := newScanner(t.Columns)
	for rows.Next() {
		if err := scan.row(rows, batch); err != nil {
			return fmt.Errorf("read %s: %w", t.ident(), err)
		}
		if batch.Rows() >= fetchRows {
			if err := yield(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", t.ident(), err)
	}
	if batch.Rows() > 0 {
		return yield(batch)
	}
	return nil
}

// total returns the order completed by the natural key.
func (t *Table) total(order []Order) []Order {
	out := slices.Clone(order)
	for _, k := range t.Key {
		if !slices.ContainsFunc(out, func(o Order) bool { return o.Column == k }) {
			out = append(out, Order{Column: k})
		}
	}
	return out
}

func (t *Table) querySQL(q Query) (text string, args []any, err error) {
	w := &where{table: t}
	if q.Filter != nil {
		cond, err := w.expr(q.Filter)
		if err != nil {
			return "", nil, err
		}
		w.conds = append(w.conds, cond)
	}
	order := t.total(q.Order)
	if q.After != "" {
		if err := w.after(order, q.After); err != nil {
			return "", nil, err
		}
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, f := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(f.Name))
		if f.Type.Kind == block.KindJSON {
			b.WriteString("::text")
		}
	}
	b.WriteString(" FROM " + t.ident())
	if len(w.conds) > 0 {
		b.WriteString(" WHERE (" + strings.Join(w.conds, ") AND (") + ")")
	}
	for i, o := range order {
		b.WriteString([]string{" ORDER BY ", ", "}[min(i, 1)] + t.sortable(o.Column))
		if o.Descending {
			b.WriteString(" DESC")
		}
		b.WriteString(" NULLS LAST")
	}
	if q.Limit > 0 {
		fmt.Fprintf(&b, " LIMIT %d", q.Limit)
	}
	return b.String(), w.args, nil
}

// sortable is a column in the order of this product: texts compare by their bytes, whatever the database's locale.
func (t *Table) sortable(column string) string {
	switch t.Columns[t.Columns.Index(column)].Type.Kind {
	case block.KindString:
		return quote(column) + ` COLLATE "C"`
	case block.KindJSON:
		return quote(column) + `::text COLLATE "C"`
	default:
		return quote(column)
	}
}

var _ DB = (pgx.Tx)(nil)
