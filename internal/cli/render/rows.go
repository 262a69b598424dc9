package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Rows writes result rows, JSON objects with equal members, as a table while they come: the widths are those of the first
// sampleRows rows, so that a result of any length is never held.
type Rows struct {
	w       io.Writer
	width   int
	columns []string
	widths  []int
	sample  [][]string
	begun   bool
}

// sampleRows is how many rows are looked at for the widths of the columns.
const sampleRows = 200

// NewRows returns a writer of a table for a terminal of the width (0: no terminal, nothing is cut).
func NewRows(w io.Writer, width int) *Rows { return &Rows{w: w, width: width} }

// Add appends a row.
func (r *Rows) Add(row []byte) error {
	columns, cells, err := members(row)
	if err != nil {
		return err
	}
	if r.columns == nil {
		r.columns = columns
	}
	if r.begun {
		return r.line(cells)
	}
	r.sample = append(r.sample, cells)
	if len(r.sample) >= sampleRows {
		return r.Flush()
	}
	return nil
}

// Flush writes what is held back; rows added later keep the widths. It is called at the end, or when the reader waits.
func (r *Rows) Flush() error {
	if r.begun || r.columns == nil {
		return nil
	}
	r.begun = true
	header := make([]string, len(r.columns))
	for i, c := range r.columns {
		header[i] = strings.ToUpper(c)
	}
	rows := append([][]string{header}, r.sample...)
	if r.width > 0 {
		cutRows(rows, r.width)
	}
	r.widths, r.sample = columnWidths(rows), nil
	for _, cells := range rows {
		if err := r.line(cells); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rows) line(cells []string) error {
	var b strings.Builder
	for i, cell := range cells {
		if i < len(r.widths) && r.width > 0 {
			cell = cut(cell, max(r.widths[i], 1))
		}
		b.WriteString(cell)
		if i < len(cells)-1 && i < len(r.widths) {
			b.WriteString(strings.Repeat(" ", max(r.widths[i]-utf8.RuneCountInString(cell), 0)+columnGap))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(r.w, b.String())
	return err
}

// members returns the names and the values, as people read them, of an object in its order.
func members(object []byte) (names, values []string, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("a row is no JSON object: %.80s", object)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("row: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, fmt.Errorf("row: %w", err)
		}
		names, values = append(names, fmt.Sprint(name)), append(values, cellOf(value))
	}
	return names, values, nil
}

// cellOf is a JSON value as people read it: strings without quotes, null as nothing.
func cellOf(value json.RawMessage) string {
	var text *string
	if json.Unmarshal(value, &text) != nil {
		return Clean(string(value))
	}
	if text == nil {
		return ""
	}
	return Clean(*text)
}
