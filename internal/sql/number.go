package sql

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/invalid"
)

// number reads a number, or a duration when a unit follows at once. `1e3` is a number, `1d` a duration, `1x` an error.
func (l *lexer) number() error {
	from := l.pos
	l.digits()
	kind := tokenInt
	if l.peek(0) == '.' && isDigit(l.peek(1)) || l.peek(0) == '.' && !isWordByte(l.peek(1)) {
		kind = tokenDecimal
		l.pos++
		l.digits()
	}
	if l.exponent() {
		kind = tokenFloat
	}
	suffix := l.pos
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !isNameStart(r) && !isWordByte(l.text[l.pos]) {
			break
		}
		l.pos += size
	}
	text, unit := l.text[from:l.pos], l.text[suffix:l.pos]
	if unit != "" {
		if _, ok := unitOf(unit); !ok || kind != tokenInt {
			return unitError(l.span(from, l.pos), kind, text, unit)
		}
		kind = tokenDuration
	}
	l.add(kind, from, text)
	return nil
}

func unitError(at invalid.Span, kind tokenKind, text, unit string) error {
	hint := durationHint
	if _, ok := unitOf(strings.ToLower(unit)); ok && kind == tokenInt {
		hint = "units are in lower case: " + strings.ToLower(text)
	}
	return syntaxError(at, fmt.Sprintf("%s is neither a number nor a duration", clip(text)), hint)
}

func (l *lexer) digits() {
	for isDigit(l.peek(0)) {
		l.pos++
	}
}

// exponent passes over e[+-]digits when it is complete.
func (l *lexer) exponent() bool {
	if l.peek(0)|0x20 != 'e' {
		return false
	}
	sign := 0
	if c := l.peek(1); c == '+' || c == '-' {
		sign = 1
	}
	if !isDigit(l.peek(1 + sign)) {
		return false
	}
	l.pos += 1 + sign
	l.digits()
	return true
}

// peek returns the byte n places ahead, 0 at the end.
func (l *lexer) peek(n int) byte {
	if l.pos+n >= len(l.text) {
		return 0
	}
	return l.text[l.pos+n]
}

func isWordByte(c byte) bool { return c == '_' || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
