package render

import (
	"strings"
	"unicode"
)

// Clean makes a text from outside one harmless line: control characters, which could move a terminal's cursor or break a
// table, are shown as blanks (white space) or as U+FFFD.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
