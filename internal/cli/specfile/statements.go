package specfile

import (
	"strings"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/problem"
)

// Statement is one of the SQL statements of a text.
type Statement struct {
	Text         string
	file         string
	line, column int // of its first character, from 1
}

// Statements cuts a text at the semicolons that end statements: not those in strings, quoted names and comments. File
// names the text in faults; it may be empty.
func Statements(file, text string) []Statement {
	var all []Statement
	from := 0
	for pos := 0; pos < len(text); {
		if text[pos] == ';' {
			all = appendStatement(all, file, text, from, pos)
			from = pos + 1
		}
		pos += piece(text[pos:])
	}
	return appendStatement(all, file, text, from, len(text))
}

// piece is the length of what stands at the beginning of a text and has no end of a statement inside: a string, a quoted
// name, a comment, or else one byte. What is not ended goes on to the end: the parser says so.
func piece(text string) int {
	for _, p := range []struct{ open, end string }{{"'", "'"}, {`"`, `"`}, {"--", "\n"}, {"/*", "*/"}} {
		rest, ok := strings.CutPrefix(text, p.open)
		if !ok {
			continue
		}
		end := strings.Index(rest, p.end)
		if end < 0 {
			return len(text)
		}
		return len(p.open) + end + len(p.end)
	}
	return 1
}

func appendStatement(all []Statement, file, text string, from, to int) []Statement {
	from += blank(text[from:to])
	if from >= to {
		return all
	}
	before := text[:from]
	begin := strings.LastIndexByte(before, '\n') + 1
	return append(all, Statement{
		Text: strings.TrimSpace(text[from:to]), file: file,
		line: strings.Count(before, "\n") + 1, column: utf8.RuneCountInString(before[begin:]) + 1,
	})
}

// blank is the length of the white space and comments that a text begins with.
func blank(text string) int {
	pos := 0
	for pos < len(text) {
		switch rest := text[pos:]; {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			pos++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"):
			pos += piece(rest)
		default:
			return pos
		}
	}
	return pos
}

// Blame gives a problem that a service found with the statement its places in the file.
func (s Statement) Blame(doc problem.Document) error {
	doc.Instance = s.file
	doc.Errors = append([]problem.Fault(nil), doc.Errors...)
	for i, f := range doc.Errors {
		if f.Span == nil {
			continue
		}
		at := *f.Span
		if at.Line == 1 {
			at.Column += s.column - 1
		}
		at.Line += s.line - 1
		doc.Errors[i].Span = &at
	}
	return &Error{doc: doc}
}
