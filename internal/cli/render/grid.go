package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Grid is a table: a header and rows of as many cells.
type Grid struct {
	Columns []string // empty: no header
	Rows    [][]string
}

// Add appends a row.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

const (
	columnGap = 2 // blanks between columns
	// leastColumn is the width below which a column is not cut: less of it tells nothing.
	leastColumn = 8
)

// Write writes the table. A positive width is that of the terminal: columns are then cut so that a row stays on a line.
func (g Grid) Write(w io.Writer, width int) error {
	rows := make([][]string, 0, len(g.Rows)+1)
	if len(g.Columns) > 0 {
		header := make([]string, len(g.Columns))
		for i, c := range g.Columns {
			header[i] = strings.ToUpper(c)
		}
		rows = append(rows, header)
	}
	for _, row := range g.Rows {
		clean := make([]string, len(row))
		for i, cell := range row {
			clean[i] = Clean(cell)
		}
		rows = append(rows, clean)
	}
	if width > 0 {
		cutRows(rows, width)
	}
	t := tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t")) // what fails here fails at Flush
	}
	return t.Flush()
}

// cutRows shortens the widest columns until a row fits into the width, as far as leastColumn lets it.
func cutRows(rows [][]string, width int) {
	widths := columnWidths(rows)
	total := columnGap * max(len(widths)-1, 0)
	for _, n := range widths {
		total += n
	}
	for total > width {
		widest := 0
		for i, n := range widths {
			if n > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			break
		}
		widths[widest]--
		total--
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cut(cell, widths[i])
		}
	}
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// cut shortens a text to n characters, the last one then being an ellipsis.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
