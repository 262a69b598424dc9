package pgtable

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/rowjson"
)

// CodeCursor is the code of a cursor that is not one, or belongs to another order.
const CodeCursor = "bad_cursor"

// Cursor returns the cursor of row i under the order: Query.After goes on behind it. It holds the order's columns of that
// row as texts, so it stays right when rows come and go.
func (t *Table) Cursor(order []Order, batch *block.Batch, i int) string {
	var texts []*string
	for _, o := range t.total(order) {
		texts = append(texts, text(batch.Col(o.Column), i))
	}
	doc, err := json.Marshal(texts)
	if err != nil {
		panic("pgtable: strings marshal: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

// text is a value as Postgres reads it, nil for null.
func text(c *block.Column, i int) *string {
	if c.IsNull(i) {
		return nil
	}
	s := strings.Trim(string(rowjson.AppendValue(nil, c, i)), `"`)
	if c.Type.Kind == block.KindString || c.Type.Kind == block.KindJSON {
		s = string(c.Bytes(i))
	}
	return &s
}

// after adds the condition "behind the cursor's row": greater in the first column, or equal there and greater in the
// second, and so on.
func (w *where) after(order []Order, cursor string) error {
	doc, err := base64.RawURLEncoding.DecodeString(cursor)
	var texts []*string
	if err == nil {
		err = json.Unmarshal(doc, &texts)
	}
	if err != nil || len(texts) != len(order) {
		return invalid.New(CodeCursor, "", "the cursor does not belong to this query; begin again without it")
	}
	var steps []string
	equal := ""
	for i, o := range order {
		column := w.table.sortable(o.Column)
		if texts[i] == nil { // nulls are last: nothing is behind one but what is equal to it
			equal += column + " IS NULL AND "
			continue
		}
		typ := pgType(w.table.Columns[w.table.Columns.Index(o.Column)].Type)
		value := w.param(*texts[i], "text") + "::" + typ
		if typ == "jsonb" {
			value = w.param(*texts[i], "text")
		}
		op := " > "
		if o.Descending {
			op = " < "
		}
		steps = append(steps, "("+equal+"("+column+op+value+" OR "+column+" IS NULL))")
		equal += column + " = " + value + " AND "
	}
	if len(steps) == 0 {
		steps = []string{"false"}
	}
	w.conds = append(w.conds, strings.Join(steps, " OR "))
	return nil
}
