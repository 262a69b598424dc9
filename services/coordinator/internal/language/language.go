package language

import (
	"cmp"
	"errors"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

// Language understands documents for one cluster.
type Language struct{ Env plan.Env }

// Stream is a stream, understood.
type Stream struct {
	plan *plan.Plan
}

// Stream understands a stream over its source; both are canonical documents. The error is an *invalid.Error.
func (l Language) Stream(source, stream []byte) (Stream, error) {
	st, err := spec.ParseStream(stream)
	if err != nil {
		return Stream{}, err
	}
	return l.over(source, st)
}

// over understands a stream; faults of one that was read from SQL have their places in the statement.
func (l Language) over(source []byte, st *spec.Stream) (Stream, error) {
	src, err := spec.ParseSource(source)
	if err != nil {
		return Stream{}, err
	}
	p, err := plan.Build(src, st, l.Env)
	return Stream{p}, locate(st.Places(), err)
}

// locate gives the faults of an error their places in the statement that an object was read from.
func locate(places spec.Places, err error) error {
	var faults *invalid.Error
	if errors.As(err, &faults) && len(places) > 0 {
		places.Locate(faults.Details)
	}
	return err
}

// Source checks a source document and returns its canonical form. The error is an *invalid.Error.
func (l Language) Source(doc []byte) (canonical []byte, err error) {
	src, err := spec.ParseSource(doc)
	if err != nil {
		return nil, err
	}
	if _, err := plan.BuildInput(src); err != nil {
		return nil, err
	}
	return src.Canonical(), nil
}

// Column is a column of a source or of a result.
type Column struct{ Name, Type, Role string }

// SourceColumns lists the columns that expressions over a source may use.
func (l Language) SourceColumns(source []byte) ([]Column, error) {
	src, err := spec.ParseSource(source)
	if err != nil {
		return nil, err
	}
	in, err := plan.BuildInput(src)
	if err != nil {
		return nil, err
	}
	out := make([]Column, len(in.Schema))
	for i, f := range in.Schema {
		out[i] = Column{Name: f.Name, Type: f.Type.String(), Role: "declared"}
		if i >= in.Declared {
			out[i].Role = "built_in"
		}
	}
	return out, nil
}

// SourceHead is what people look for first in a source.
type SourceHead struct {
	Topic, Format, Table, EventTime string
	Columns                         []string // declared, "name type"
}

// SourceHead reads it from a canonical document.
func (l Language) SourceHead(source []byte) (SourceHead, error) {
	src, err := spec.ParseSource(source)
	if err != nil {
		return SourceHead{}, err
	}
	head := SourceHead{Topic: src.Kafka.Topic, Format: string(src.Format), Table: string(src.Table), EventTime: string(src.EventTime.Path)}
	for _, c := range src.Columns {
		head.Columns = append(head.Columns, c.Name+" "+c.Type.String())
	}
	return head, nil
}

// Columns are the result's columns in order.
func (s Stream) Columns() []Column {
	out := make([]Column, len(s.plan.Result.Columns))
	for i, c := range s.plan.Result.Columns {
		out[i] = Column{c.Name, c.Type.String(), c.Role.String()}
	}
	return out
}

// NaturalKey names the columns that identify a result row, group keys first.
func (s Stream) NaturalKey() []string { return s.plan.Result.KeyNames() }

// Explain is the plan as text, for people.
func (s Stream) Explain() string { return s.plan.Explain() }

// Spec is the canonical document.
func (s Stream) Spec() []byte { return s.plan.Stream.Canonical() }

// Target is a table, topic or address that results are written to.
type Target struct{ Name, Delivery string }

// Postgres returns the Postgres target, if there is one; unsaid deliveries are those of DESIGN §9.
func (s Stream) Postgres() (Target, bool) {
	out := s.plan.Stream.Outputs.Postgres
	if out == nil {
		return Target{}, false
	}
	return Target{out.Table, string(cmp.Or(out.Delivery, spec.DeliveryUpsert))}, true
}

// Kafka returns the Kafka target, if there is one.
func (s Stream) Kafka() (Target, bool) {
	out := s.plan.Stream.Outputs.Kafka
	if out == nil {
		return Target{}, false
	}
	return Target{out.Topic, string(cmp.Or(out.Delivery, spec.DeliveryAtLeastOnce))}, true
}

// Webhook returns who is told of windows, if somebody is.
func (s Stream) Webhook() (Target, bool) {
	if s.plan.Webhook == nil {
		return Target{}, false
	}
	return Target{s.plan.Webhook.Address(), string(spec.DeliveryAtLeastOnce)}, true
}

// Graph is the tasks of a stream and how they are connected.
func (s Stream) Graph(id ident.StreamID, partitions int) plan.Graph {
	return s.plan.Graph(id, partitions)
}
