package language

import (
	"errors"

	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
)

// sampleName stands for the name and the topic, which no sample can tell.
const sampleName = "sample"

// Infer proposes a source for a sample of records, one a line. The notes say what was guessed. The error is an
// *invalid.Error.
func (l Language) Infer(sample []byte) (doc []byte, notes []string, err error) {
	p, notes, err := decode.Infer(sample)
	if errors.Is(err, decode.ErrNoSample) {
		return nil, nil, invalid.New(string(problem.CodeInvalidValue), "/sample", "%v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	src := &spec.Source{
		Name: sampleName, Format: spec.FormatJSON, Kafka: &spec.Kafka{Topic: sampleName}, Table: spec.Table(p.Table),
		EventTime: spec.EventTime{Path: spec.Path(p.EventTime), Unit: units[p.Unit]},
	}
	for _, c := range p.Columns {
		column := spec.Column{Name: c.Name, Type: c.Type}
		if c.Path != "$."+c.Name {
			column.Path = spec.Path(c.Path)
		}
		src.Columns = append(src.Columns, column)
	}
	return src.Canonical(), append(notes, "name and kafka.topic are not in a sample: give them your own"), nil
}

// units are the words of specs; milliseconds are the default and stay unsaid.
var units = map[decode.Unit]spec.TimeUnit{
	decode.Seconds: spec.UnitSecond, decode.Microseconds: spec.UnitMicrosecond, decode.Nanoseconds: spec.UnitNanosecond,
}
