package language

import (
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/sql"
)

// Action is what a statement does.
type Action string

// The actions.
const (
	Create   Action = "create"
	Drop     Action = "drop"
	Show     Action = "show"
	Describe Action = "describe"
	Explain  Action = "explain"
)

// Kind is what a statement is about.
type Kind string

// The kinds. KindAny: DESCRIBE takes either.
const (
	KindSource Kind = "source"
	KindStream Kind = "stream"
	KindAny    Kind = ""
)

// Statement is a SQL statement, understood as far as it can be without looking at what exists.
type Statement struct {
	Action Action
	Kind   Kind
	Name   string // of the object; for EXPLAIN of a query without a name, ""
	// Doc is the canonical document of CREATE and EXPLAIN.
	Doc []byte
	// Source is the source that the stream of CREATE and EXPLAIN reads.
	Source string

	stream *spec.Stream
	places spec.Places
}

// Parse reads one statement. The error is an *invalid.Error with places in the text.
func (l Language) Parse(text string) (Statement, error) {
	parsed, err := sql.ParseStatement(text)
	if err != nil {
		return Statement{}, err
	}
	switch st := parsed.(type) {
	case *sql.CreateStream, *sql.CreateSource:
		return object(Create, text, parsed)
	case *sql.Explain:
		return object(Explain, text, parsed)
	case *sql.Drop:
		return Statement{Action: Drop, Kind: kindOf(st.Kind), Name: st.Name.Text}, nil
	case *sql.Show:
		return Statement{Action: Show, Kind: kindOf(st.Kind)}, nil
	case *sql.Describe:
		return Statement{Action: Describe, Kind: KindAny, Name: st.Name.Text}, nil
	}
	span := parsed.Span()
	return Statement{}, &invalid.Error{Details: []invalid.Detail{{
		Code: string(problem.CodeNotSupportedYet), Span: &span, Message: "a query cannot be run by itself",
		Hint: "CREATE STREAM name AS SELECT …, then read its results; or EXPLAIN SELECT …",
	}}}
}

func kindOf(k sql.ObjectKind) Kind {
	if k == sql.ObjectStream {
		return KindStream
	}
	return KindSource
}

// object reads the document of a statement that describes one.
func object(a Action, text string, parsed sql.Statement) (Statement, error) {
	o, err := spec.FromSQL(text, parsed)
	if err != nil {
		return Statement{}, err
	}
	out := Statement{Action: a, Name: o.ObjectName(), Doc: o.Canonical()}
	switch o := o.(type) {
	case *spec.Stream:
		out.Kind, out.Source, out.stream, out.places = KindStream, o.Source, o, o.Places()
	case *spec.Source:
		out.Kind, out.places = KindSource, o.Places()
	}
	return out, nil
}

// Locate gives the faults that were found in the document later their places in the statement.
func (s Statement) Locate(err error) error { return locate(s.places, err) }

// Understand understands the stream of a CREATE or EXPLAIN over its source's canonical document.
func (l Language) Understand(s Statement, source []byte) (Stream, error) {
	return l.over(source, s.stream)
}

// ParseSpec reads a stream document like the statement that would create it.
func (l Language) ParseSpec(doc []byte) (Statement, error) {
	st, err := spec.ParseStream(doc)
	if err != nil {
		return Statement{}, err
	}
	return Statement{Action: Create, Kind: KindStream, Name: st.Name, Doc: st.Canonical(), Source: st.Source, stream: st}, nil
}
