package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// queryName is the name of a stream that a bare SELECT describes: it can be explained and validated, not created.
const queryName = "query"

// FromSQL converts CREATE STREAM, CREATE SOURCE, SELECT, or the target of an EXPLAIN into the object they describe.
// text is what the statement was parsed from. Errors are *invalid.Error with spans in it; later faults find their
// spans by Places.
func FromSQL(text string, st sql.Statement) (Object, error) {
	switch st := st.(type) {
	case *sql.Explain:
		return FromSQL(text, st.Target)
	case *sql.CreateStream:
		c := &converter{text: text}
		return orNil(c.stream(c.createStream(st)))
	case *sql.Select:
		c := &converter{text: text}
		root := newObject().located(st.At)
		c.put(root, "name", newString(queryName).located(st.At))
		c.query(root, st)
		return orNil(c.stream(root))
	case *sql.CreateSource:
		c := &converter{text: text}
		return orNil(c.source(c.createSource(st)))
	}
	at := st.Span()
	return nil, &invalid.Error{Details: []invalid.Detail{{Code: CodeInvalidValue, Span: &at, Message: "this statement declares no source or stream", Hint: "use CREATE SOURCE, CREATE STREAM or SELECT"}}}
}

// converter builds the tree of a statement.
type converter struct {
	text   string
	faults invalid.Collector
}

func (c *converter) stream(root *node) (*Stream, error) {
	s, err := decodeStream(root)
	places := placesOf(root)
	if err := c.finish(err, places); err != nil {
		return nil, err
	}
	s.places = places
	return s, nil
}

func (c *converter) source(root *node) (*Source, error) {
	s, err := decodeSource(root, whole)
	places := placesOf(root)
	if err := c.finish(err, places); err != nil {
		return nil, err
	}
	s.places = places
	return s, nil
}

// finish gathers the converter's faults and the decoder's, all with spans.
func (c *converter) finish(err error, places Places) error {
	if bad, ok := err.(*invalid.Error); ok { //nolint:errorlint // made by the decoder, never wrapped
		places.Locate(bad.Details)
		c.faults.Merge("", bad)
	}
	return c.faults.Err()
}

// put adds a member; a second one of the name is a fault.
func (c *converter) put(object *node, name string, value *node) {
	if object.get(name) != nil {
		at := value.at
		c.faults.Add(invalid.Detail{Code: CodeDuplicateMember, Span: &at, Message: fmt.Sprintf("%s is given twice", name), Hint: "leave one out"})
		return
	}
	object.set(name, value)
}

// within returns the member object with the name, made where it is missing.
func (c *converter) below(object *node, name string, at invalid.Span) *node {
	if inner := object.get(name); inner != nil {
		return inner
	}
	inner := newObject().located(at)
	object.set(name, inner)
	return inner
}

// options sets the members that a WITH clause names; dots lead into nested objects.
func (c *converter) options(root *node, options []sql.Option) {
	for _, o := range options {
		object, steps := root, strings.Split(o.Key.Text, ".")
		for _, step := range steps[:len(steps)-1] {
			object = c.below(object, step, o.Key.At)
		}
		value := c.literal(o.Value)
		if object.kind != nodeObject {
			value.at = o.Key.At
			c.faults.Add(invalid.Detail{Code: CodeWrongType, Span: &value.at, Message: fmt.Sprintf("%s leads through a value that has no members", o.Key.Text)})
			continue
		}
		c.put(object, steps[len(steps)-1], value)
	}
}

// literal converts a value of a WITH clause. The place of a string is that of its text, without the quotes.
func (c *converter) literal(l *sql.Literal) *node {
	at := l.At
	switch l.Kind {
	case sql.LiteralNull:
		return (&node{kind: nodeNull}).located(at)
	case sql.LiteralBool:
		return newBool(l.Bool).located(at)
	case sql.LiteralInt:
		return newInt(l.Int).located(at)
	case sql.LiteralDecimal:
		return newNumber(l.Text).located(at)
	case sql.LiteralFloat:
		return newNumber(strconv.FormatFloat(l.Float, 'g', -1, 64)).located(at)
	case sql.LiteralDuration:
		return newString(l.Duration.String()).located(at)
	}
	if strings.HasPrefix(sql.Text(c.text, at), "'") {
		at.Offset, at.Column, at.Length = at.Offset+1, at.Column+1, at.Length-2
	}
	return newString(l.Text).located(at)
}

// expr takes an expression as it is written, so that names made from its text and places in it are the user's.
func (c *converter) expr(e sql.Expr) *node {
	return newString(sql.Text(c.text, e.Span())).located(e.Span())
}

func name(n sql.Name) *node { return newString(n.Text).located(n.At) }

func duration(d sql.Duration, at invalid.Span) *node { return newString(d.String()).located(at) }
