// Package sqldoc holds docs/sql.md against the code: its examples are run, its tables are those of the catalogues.
package sqldoc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	_ "time/tzdata"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "sql.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the part of the page below a heading, down to the next one.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page(t), "# "+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n#")
	return text
}

// row is a row of a table: its cells by the titles of the columns.
type row map[string]string

// rows are those of all tables of a section that have a column of the title.
func rows(t *testing.T, heading, title string) (out []row) {
	t.Helper()
	var titles []string
	for line := range strings.Lines(section(t, heading)) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			titles = nil
		case strings.HasPrefix(line, "|--"):
		case titles == nil:
			titles = cells(line)
		default:
			r := row{}
			for i, cell := range cells(line) {
				r[titles[i]] = cell
			}
			if _, ok := r[title]; ok {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("section %q has no table with a column %q", heading, title)
	}
	return out
}

func cells(line string) (out []string) {
	const bar = "\x00" // stands for an escaped bar
	line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), `\|`, bar)
	for _, c := range strings.Split(line, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(c), bar, "|"))
	}
	return out
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// codes are the texts between backquotes in a cell.
func codes(cell string) (out []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// code is the text of a cell that is code as a whole; "" where it is not.
func code(cell string) string {
	if all := codes(cell); len(all) == 1 && cell == "`"+all[0]+"`" {
		return all[0]
	}
	return ""
}

var (
	link    = regexp.MustCompile(`\]\(([a-z_]*(?:\.md)?)(?:#([a-z-]+))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, m := range link.FindAllStringSubmatch(page(t), -1) {
		text := page(t)
		if m[1] != "" {
			other, err := os.ReadFile(filepath.Join("..", "..", "docs", m[1]))
			if err != nil {
				t.Error(err)
				continue
			}
			text = string(other)
		}
		found := m[2] == ""
		for _, h := range heading.FindAllStringSubmatch(text, -1) {
			found = found || strings.ReplaceAll(strings.ToLower(h[1]), " ", "-") == m[2]
		}
		if !found {
			t.Errorf("%s has no heading #%s", m[1], m[2])
		}
	}
}
