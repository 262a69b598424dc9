package sql

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// Limits of a text. They keep the stack and the memory of everybody who walks a tree bounded.
const (
	// MaxNesting is how deep parentheses, CASE, calls and prefix operators may nest.
	MaxNesting = 200
	// MaxNodes is how many expression nodes one text may have; it also bounds the height of a chain such as a + a + ….
	MaxNodes = 10_000
)

// parser reads tokens from left to right with one token of look-ahead (two for function calls). It fails by panicking
// with a bailout, which only the exported functions recover: the grammar stays readable, and no error is lost.
type parser struct {
	text   string
	tokens []token
	pos    int
	depth  int
	nodes  int
}

type bailout struct{ err *invalid.Error }

// ParseStatement parses one statement; a semicolon may follow. The error is an *invalid.Error.
func ParseStatement(text string) (Statement, error) {
	return parse(text, func(p *parser) Statement {
		s := p.statement()
		p.acceptOp(";")
		return s
	})
}

// ParseExpr parses one expression. The error is an *invalid.Error.
func ParseExpr(text string) (Expr, error) {
	return parse(text, func(p *parser) Expr { return p.expr() })
}

// parse runs a production over the whole text.
func parse[T any](text string, production func(*parser) T) (result T, err error) {
	tokens, err := lex(text)
	if err != nil {
		return result, err
	}
	p := &parser{text: text, tokens: tokens}
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			var none T
			result, err = none, b.err
		}
	}()
	result = production(p)
	if t := p.peek(); t.kind != tokenEOF {
		p.fail(t, "the end of the text")
	}
	return result, nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

// peekAfter returns the token after the next one.
func (p *parser) peekAfter() token { return p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEOF {
		p.pos++
	}
	return t
}

func (p *parser) acceptOp(op string) bool {
	if p.peek().isOp(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) acceptWord(word string) bool {
	if p.peek().isWord(word) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expectOp(op string) token {
	if !p.peek().isOp(op) {
		p.fail(p.peek(), quoted(op))
	}
	return p.next()
}

func (p *parser) expectWord(word string) token {
	if !p.peek().isWord(word) {
		p.failWords(p.peek(), word)
	}
	return p.next()
}

// fail gives up: at t something else was expected.
func (p *parser) fail(t token, expected string) {
	p.failHint(t, expected, foreignHint(t))
}

func (p *parser) failHint(t token, expected, hint string) {
	panic(bailout{syntaxError(t.at, fmt.Sprintf("expected %s, found %s", expected, p.shown(t)), hint)})
}

// shown is how an error names a token: as the user wrote it.
func (p *parser) shown(t token) string {
	text := clip(Text(p.text, t.at))
	switch t.kind {
	case tokenEOF:
		return "the end of the text"
	case tokenString:
		return "the string " + text
	case tokenOp:
		return quoted(text)
	}
	return text
}

// quoted sets punctuation off from the words of a message.
func quoted(op string) string { return `"` + op + `"` }

// failWords gives up where one of the keywords was expected, and hints at the nearest one.
func (p *parser) failWords(t token, words ...string) {
	upper := make([]string, len(words))
	for i, w := range words {
		upper[i] = strings.ToUpper(w)
	}
	hint := foreignHint(t)
	if hint == "" && t.kind == tokenWord {
		if near := invalid.Nearest(t.text, words); near != "" {
			hint = fmt.Sprintf("did you mean %s?", strings.ToUpper(near))
		}
	}
	p.failHint(t, oneOf(upper), hint)
}

func foreignHint(t token) string {
	if t.kind != tokenWord {
		return ""
	}
	return foreign[t.text]
}

// oneOf lists alternatives for a message.
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// since is the span from the start of t to the end of the last token read.
func (p *parser) since(from invalid.Span) invalid.Span {
	last := p.tokens[max(p.pos-1, 0)].at
	from.Length = max(last.Offset+last.Length-from.Offset, 0)
	return from
}

// enter counts a level of nesting; the caller defers leave.
func (p *parser) enter() {
	p.depth++
	if p.depth > MaxNesting {
		panic(bailout{syntaxError(p.peek().at, fmt.Sprintf("the text nests deeper than %d levels", MaxNesting), "")})
	}
}

func (p *parser) leave() { p.depth-- }

// node counts an expression node.
func (p *parser) node(at invalid.Span) {
	p.nodes++
	if p.nodes > MaxNodes {
		panic(bailout{syntaxError(at, fmt.Sprintf("the text has more than %d terms and operators", MaxNodes), "")})
	}
}

// name reads an identifier; reserved words need quotes.
func (p *parser) name(what string) Name {
	t := p.peek()
	switch {
	case t.kind == tokenQuoted:
	case t.kind == tokenWord && !reserved[t.text]:
	case t.kind == tokenWord:
		p.failHint(t, what, reservedHint(t))
	default:
		p.fail(t, what)
	}
	p.pos++
	return Name{Text: t.text, At: t.at}
}

func reservedHint(t token) string {
	if hint := foreignHint(t); hint != "" {
		return hint
	}
	return fmt.Sprintf("%s is a reserved word: something is missing before it, or quote it as a name: %q", strings.ToUpper(t.text), t.text)
}

// anyName reads an identifier where no keyword can stand: every word is one.
func (p *parser) anyName(what string) Name {
	t := p.peek()
	if t.kind != tokenQuoted && t.kind != tokenWord {
		p.fail(t, what)
	}
	p.pos++
	return Name{Text: t.text, At: t.at}
}

// stringText reads a string literal.
func (p *parser) stringText(what string) token {
	if t := p.peek(); t.kind != tokenString {
		p.failHint(t, what, "strings are written in '…'")
	}
	return p.next()
}

// list reads items separated by commas.
func list[T any](p *parser, item func() T) []T {
	items := []T{item()}
	for p.acceptOp(",") {
		items = append(items, item())
	}
	return items
}

// duration reads a duration with an optional minus.
func (p *parser) duration() Duration {
	sign := ""
	if p.peek().isOp("-") && p.peekAfter().kind == tokenDuration {
		p.pos++
		sign = "-"
	}
	t := p.peek()
	if t.kind != tokenDuration {
		p.failHint(t, "a duration", durationHint)
	}
	p.pos++
	d, err := durationOf(t, sign)
	p.check(err)
	return d
}

// check gives up with an error made elsewhere in this package.
func (p *parser) check(err error) {
	if err == nil {
		return
	}
	bad, ok := err.(*invalid.Error) //nolint:errorlint // made by syntaxError, never wrapped
	if !ok {
		panic(err)
	}
	panic(bailout{bad})
}
