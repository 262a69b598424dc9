package sql

import "github.com/pondage/pondage/internal/invalid"

func (p *parser) statement() Statement {
	t := p.peek()
	if t.kind == tokenWord {
		switch t.text {
		case "create":
			return p.create()
		case "drop":
			p.pos++
			kind := p.objectKind("stream", "source")
			name := p.name("the name of the " + kind.String())
			return &Drop{Kind: kind, Name: name, At: p.since(t.at)}
		case "show":
			p.pos++
			kind := p.objectKind("streams", "sources")
			return &Show{Kind: kind, At: p.since(t.at)}
		case "describe":
			p.pos++
			name := p.name("the name of a stream or source")
			if after := p.peek(); (name.Text == "stream" || name.Text == "source") && after.kind == tokenWord {
				p.failHint(after, "the end of the text", "DESCRIBE takes the name alone: DESCRIBE "+after.text)
			}
			return &Describe{Name: name, At: p.since(t.at)}
		case "explain":
			return p.explain()
		case "select":
			return p.selectQuery()
		}
	}
	p.failWords(t, "create", "drop", "show", "describe", "explain", "select")
	return nil
}

func (p *parser) objectKind(stream, source string) ObjectKind {
	switch t := p.peek(); {
	case t.isWord(stream):
		p.pos++
		return ObjectStream
	case t.isWord(source):
		p.pos++
		return ObjectSource
	default:
		p.failWords(t, stream, source)
		return 0
	}
}

func (p *parser) explain() Statement {
	start := p.expectWord("explain")
	var target Statement
	switch t := p.peek(); {
	case t.isWord("select"):
		target = p.selectQuery()
	case t.isWord("create") && p.peekAfter().isWord("stream"):
		target = p.create()
	default:
		p.failWords(t, "create stream", "select")
	}
	return &Explain{Target: target, At: p.since(start.at)}
}

func (p *parser) create() Statement {
	start := p.expectWord("create")
	if p.objectKind("stream", "source") == ObjectSource {
		return p.createSource(start.at)
	}
	s := &CreateStream{Name: p.name("the name of the stream")}
	if p.acceptWord("into") {
		s.Into = list(p, p.output)
	}
	if p.acceptWord("with") {
		s.With = p.options()
	}
	if !p.acceptWord("as") {
		p.failWords(p.peek(), p.beforeAs(s)...)
	}
	if !p.peek().isWord("select") {
		p.failWords(p.peek(), "select")
	}
	s.Query = p.selectQuery()
	s.At = p.since(start.at)
	return s
}

// beforeAs lists what may still stand before AS.
func (p *parser) beforeAs(s *CreateStream) []string {
	switch {
	case s.With != nil:
		return []string{"as"}
	case s.Into != nil:
		return []string{"with", "as"}
	}
	return []string{"into", "with", "as"}
}

func (p *parser) output() Output {
	t := p.peek()
	switch {
	case p.acceptWord("postgres"):
		table := p.name("the name of a table").Text
		if p.acceptOp(".") {
			table += "." + p.name("the name of a table").Text
		}
		return Output{Kind: OutputPostgres, Target: table, At: p.since(t.at)}
	case p.acceptWord("kafka"):
		topic := p.stringText("the name of a topic").text
		return Output{Kind: OutputKafka, Target: topic, At: p.since(t.at)}
	}
	p.failWords(t, "postgres", "kafka")
	return Output{}
}

func (p *parser) createSource(start invalid.Span) Statement {
	s := &CreateSource{Name: p.name("the name of the source")}
	if p.acceptOp("(") {
		s.Columns = list(p, p.columnDef)
		p.expectOp(")")
	}
	p.expectWord("with")
	s.With = p.options()
	s.At = p.since(start)
	return s
}

func (p *parser) columnDef() ColumnDef {
	name := p.name("the name of a column")
	c := ColumnDef{Name: name, Type: p.typeName()}
	if p.acceptWord("path") {
		c.Path = p.stringText("a path such as '$.geo.lat'").text
	}
	c.At = p.since(name.At)
	return c
}

// options reads (key = value, …).
func (p *parser) options() []Option {
	p.expectOp("(")
	options := list(p, p.option)
	p.expectOp(")")
	return options
}

func (p *parser) option() Option {
	key := p.anyName("a key")
	for p.acceptOp(".") {
		key.Text += "." + p.anyName("the rest of the key").Text
		key.At = p.since(key.At)
	}
	p.expectOp("=")
	return Option{Key: key, Value: p.optionValue()}
}

// optionValue reads a literal; a bare word is a string.
func (p *parser) optionValue() *Literal {
	t := p.peek()
	switch {
	case t.isWord("null"), t.isWord("true"), t.isWord("false"):
		p.pos++
		if t.text == "null" {
			return &Literal{Kind: LiteralNull, At: t.at}
		}
		return &Literal{Kind: LiteralBool, Bool: t.text == "true", At: t.at}
	case t.kind == tokenWord, t.kind == tokenQuoted:
		p.pos++
		return &Literal{Kind: LiteralString, Text: t.text, At: t.at}
	case t.isOp("-") && isNumber(p.peekAfter().kind):
		p.pos++
		l := p.literal("-")
		l.At = p.since(t.at)
		return l
	case t.kind == tokenString, isNumber(t.kind):
		return p.literal("")
	}
	p.fail(t, "a value")
	return nil
}
