package sql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/invalid"
)

// CodeSyntax is the code of every error of this package.
const CodeSyntax = "syntax"

// MaxLength is the longest text that is parsed, in bytes.
const MaxLength = 64 << 10

type tokenKind uint8

const (
	tokenEOF      tokenKind = iota
	tokenWord               // an unquoted name or keyword; text is folded to lower case
	tokenQuoted             // a name in "…"; text is without the quotes
	tokenString             // text is without the quotes
	tokenInt                // digits
	tokenDecimal            // digits with a point
	tokenFloat              // digits with an exponent
	tokenDuration           // digits and a unit
	tokenOp                 // an operator or punctuation
)

type token struct {
	kind tokenKind
	text string
	at   invalid.Span
}

func (t token) isOp(op string) bool     { return t.kind == tokenOp && t.text == op }
func (t token) isWord(word string) bool { return t.kind == tokenWord && t.text == word }

// clip shortens a text for a message.
func clip(s string) string {
	const most = 40 // characters: enough to recognise, short enough for one line
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func syntaxError(at invalid.Span, message, hint string) *invalid.Error {
	return &invalid.Error{Details: []invalid.Detail{{Code: CodeSyntax, Span: &at, Message: message, Hint: hint}}}
}

// lexer walks over the text once. line and column are the place of text[counted], so that no line is counted twice.
type lexer struct {
	text         string
	pos          int
	line, column int
	counted      int
	tokens       []token
}

// lex cuts the text into tokens; the last one is tokenEOF.
func lex(text string) ([]token, error) {
	l := &lexer{text: text, line: 1, column: 1}
	if len(text) > MaxLength {
		return nil, syntaxError(l.span(0, 0), fmt.Sprintf("the text has %d bytes, at most %d are taken", len(text), MaxLength), "")
	}
	if !utf8.ValidString(text) {
		return nil, syntaxError(l.span(0, 0), "the text is not valid UTF-8", "")
	}
	for {
		if err := l.skipSpace(); err != nil {
			return nil, err
		}
		if l.pos == len(text) {
			l.add(tokenEOF, l.pos, "")
			return l.tokens, nil
		}
		if err := l.next(); err != nil {
			return nil, err
		}
	}
}

// span is the place of text[from:to]. Calls come in the order of from.
func (l *lexer) span(from, to int) invalid.Span {
	for _, r := range l.text[l.counted:from] {
		l.column++
		if r == '\n' {
			l.line++
			l.column = 1
		}
	}
	l.counted = from
	return invalid.Span{Offset: from, Length: to - from, Line: l.line, Column: l.column}
}

func (l *lexer) add(kind tokenKind, from int, text string) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, at: l.span(from, l.pos)})
}

// skipSpace passes over white space and comments.
func (l *lexer) skipSpace() error {
	for l.pos < len(l.text) {
		from := l.pos
		rest := l.text[from:]
		switch r, size := utf8.DecodeRuneInString(rest); {
		case unicode.IsSpace(r) || r == '\uFEFF':
			l.pos += size
		case strings.HasPrefix(rest, "--"):
			l.pos = len(l.text)
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				l.pos = from + end + 1
			}
		case strings.HasPrefix(rest, "/*"):
			end := commentEnd(rest)
			if end < 0 {
				return syntaxError(l.span(from, from+2), "the comment is not closed", "end it with */")
			}
			l.pos += end
		default:
			return nil
		}
	}
	return nil
}

// commentEnd returns the length of the comment that text begins with (comments nest), or −1.
func commentEnd(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// next reads one token.
func (l *lexer) next() error {
	c, _ := utf8.DecodeRuneInString(l.text[l.pos:])
	switch {
	case c == '\'':
		return l.quoted(tokenString, '\'', "string")
	case c == '"':
		return l.quoted(tokenQuoted, '"', "name")
	case isDigit(byte(min(c, unicode.MaxASCII))), c == '.' && l.pos+1 < len(l.text) && isDigit(l.text[l.pos+1]):
		return l.number()
	case isNameStart(c):
		l.word()
		return nil
	}
	return l.operator(c)
}

func (l *lexer) word() {
	from := l.pos
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !isNameStart(r) && !unicode.IsDigit(r) {
			break
		}
		l.pos += size
	}
	l.add(tokenWord, from, strings.ToLower(l.text[from:l.pos]))
}

// quoted reads a string or a quoted name; the quote doubled stands for itself.
func (l *lexer) quoted(kind tokenKind, quote byte, what string) error {
	from := l.pos
	var b strings.Builder
	for i := from + 1; i < len(l.text); i++ {
		if l.text[i] != quote {
			b.WriteByte(l.text[i])
			continue
		}
		if i+1 < len(l.text) && l.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		l.pos = i + 1
		if kind == tokenQuoted && b.Len() == 0 {
			return syntaxError(l.span(from, l.pos), "a name cannot be empty", "")
		}
		l.add(kind, from, b.String())
		return nil
	}
	return syntaxError(l.span(from, from+1), fmt.Sprintf("the %s is not closed", what), fmt.Sprintf("end it with %c", quote))
}

// operators, longest first.
var operators = []string{"<=", ">=", "<>", "!=", "||", "::", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", ".", ";"}

func (l *lexer) operator(c rune) error {
	from := l.pos
	for _, op := range operators {
		if strings.HasPrefix(l.text[from:], op) {
			l.pos += len(op)
			if op == "!=" {
				op = "<>"
			}
			l.add(tokenOp, from, op)
			return nil
		}
	}
	hint := ""
	switch c {
	case '`':
		hint = `names are quoted with "…"`
	case '‘', '’', '“', '”':
		hint = "use the plain quote '"
	case '[', ']', '{', '}':
		hint = "lists are written in (…)"
	}
	return syntaxError(l.span(from, from+utf8.RuneLen(c)), fmt.Sprintf("unexpected character %q", c), hint)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }
