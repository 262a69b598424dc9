package sql

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// clauseWords are the words that begin a clause after FROM, for hints.
var clauseWords = []string{
	"allowed_lateness", "count_window", "event_window", "fill", "fill_history", "interval", "partition by", "session",
	"state_window", "subtable", "timezone", "trigger", "true for", "watermark", "where",
}

// clause reads the rest of the clause that begins with t; false when t begins none. Clauses may come in any order; what
// a combination means is the planner's business.
func (p *parser) clause(s *Select, t token) bool {
	switch t.text {
	case "where":
		s.Where = p.expr()
	case "partition":
		p.expectWord("by")
		s.PartitionBy = list(p, p.expr)
	case "subtable":
		s.Subtable = parenthesised(p, p.expr)
	case "interval":
		p.interval(s, t)
	case "session":
		p.session(s, t)
	case "state_window":
		p.stateWindow(s, t)
	case "event_window":
		p.eventWindow(s, t)
	case "count_window":
		p.countWindow(s, t)
	case "true":
		p.expectWord("for")
		s.TrueFor = p.durationClause(t)
	case "timezone":
		p.timezone(s)
	case "watermark":
		s.Watermark = p.durationClause(t)
	case "allowed_lateness":
		p.lateness(s, t)
	case "trigger":
		p.trigger(s, t)
	case "fill":
		p.fill(s, t)
	case "fill_history":
		p.history(s, t)
	default:
		return false
	}
	return true
}

// windowClauses exclude one another.
var windowClauses = map[string]bool{"interval": true, "session": true, "state_window": true, "event_window": true, "count_window": true}

func (p *parser) selectQuery() *Select {
	start := p.expectWord("select")
	s := &Select{Items: list(p, p.selectItem)}
	if !p.acceptWord("from") {
		p.failFrom(s.Items[len(s.Items)-1])
	}
	s.From = p.name("the name of a source")
	seen := map[string]bool{}
	for t := p.peek(); t.kind == tokenWord; t = p.peek() {
		p.clauseOnce(t, seen)
		p.pos++
		if !p.clause(s, t) {
			p.failClause(t)
		}
	}
	s.At = p.since(start.at)
	return s
}

// clauseOnce refuses a clause that was already read; all windows are one clause.
func (p *parser) clauseOnce(t token, seen map[string]bool) {
	key, what := t.text, strings.ToUpper(t.text)
	if windowClauses[key] {
		key, what = "window", "a window"
	}
	if seen[key] {
		panic(bailout{syntaxError(t.at, fmt.Sprintf("%s is given twice", what), "")})
	}
	seen[key] = true
}

// failClause reports a word that begins no clause.
func (p *parser) failClause(t token) {
	if t.isWord("sliding") {
		p.failHint(t, "a clause", "SLIDING(step) follows INTERVAL(size) directly")
	}
	if foreignHint(t) != "" {
		p.fail(t, "a clause")
	}
	p.failWords(t, clauseWords...)
}

func (p *parser) selectItem() SelectItem {
	t := p.peek()
	if p.acceptOp("*") {
		return SelectItem{Star: true, At: t.at}
	}
	item := SelectItem{Expr: p.expr()}
	next := p.peek()
	switch {
	case p.acceptWord("as"):
		alias := p.anyName("a name")
		item.Alias = &alias
	case next.kind == tokenQuoted, next.kind == tokenWord && !reserved[next.text]:
		if foreignHint(next) != "" {
			p.fail(next, "AS, a comma or FROM")
		}
		alias := p.name("a name")
		item.Alias = &alias
	}
	item.At = p.since(t.at)
	return item
}

// failFrom reports a missing FROM. A misspelt one was read as the alias of the last item.
func (p *parser) failFrom(last SelectItem) {
	t := p.peek()
	if last.Alias != nil && last.Alias.Text == "from" {
		p.failHint(t, "FROM", "after AS every word is a name: give one before FROM")
	}
	if last.Alias != nil && t.kind == tokenWord && invalid.Nearest(last.Alias.Text, []string{"from"}) != "" {
		p.failHint(t, "FROM", fmt.Sprintf("did you mean FROM instead of %s?", last.Alias.Text))
	}
	p.failWords(t, "from")
}

// parenthesised reads ( item ).
func parenthesised[T any](p *parser, item func() T) T {
	p.expectOp("(")
	v := item()
	p.expectOp(")")
	return v
}
