package decode

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Decoder reads the records of one source. One goroutine at a time.
type Decoder struct {
	schema  Schema
	root    node
	table   *node // nil if the name is computed
	time    *node
	columns []column
	scan    scanner

	name    []byte // scratch: an unescaped table name
	scratch []byte // scratch: any other unescaped string
}

// column is a declared column with its place.
type column struct {
	*node
	name string
	typ  block.Type
}

// New returns a Decoder for the schema, or everything that is wrong with it.
func New(s Schema) (*Decoder, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	d := &Decoder{schema: s}
	if len(s.Table) > 0 {
		d.table = d.root.add(s.Table, s.Table.String())
	}
	d.time = d.root.add(s.EventTime, s.EventTime.String())
	for _, c := range s.Columns {
		d.columns = append(d.columns, column{node: d.root.add(c.Path, c.Name), name: c.Name, typ: c.Type})
	}
	return d, nil
}

// Schema returns the schema that the decoder was made for.
func (d *Decoder) Schema() *Schema { return &d.schema }

// byteOrderMark may stand before a JSON text (RFC 8259 §8.1); it is ignored.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Append decodes one record and appends its row to b, whose schema begins with Schema.Block; or it appends nothing and
// says why. A nil value, a tombstone, is an empty record. value is not kept.
func (d *Decoder) Append(value []byte, limits Limits, b *block.Batch) Verdict {
	if refusal := d.append(bytes.TrimPrefix(value, byteOrderMark), limits, b); refusal != nil {
		return *refusal
	}
	return Verdict{}
}

// append is Append for a text without a byte order mark. Here and below nil means "accepted": a Verdict is too large to
// be passed up from each column of each record.
func (d *Decoder) append(text []byte, limits Limits, b *block.Batch) *Verdict {
	if v := d.read(text); v != nil {
		return v
	}
	var name []byte
	var v *Verdict
	if d.table != nil {
		if name, v = d.readTable(); v != nil {
			return v
		}
	}
	ts, v := d.readTime(limits)
	if v != nil {
		return v
	}
	return d.appendRow(b, name, ts)
}

// read scans the record and judges it as a whole.
func (d *Decoder) read(text []byte) *Verdict {
	s := &d.scan
	s.begin(text)
	at := s.space(0)
	if at == len(text) {
		return &Verdict{Code: EmptyRecord, Reason: "the value is empty"}
	}
	isObject := text[at] == '{'
	if isObject {
		at = s.object(&d.root, at+1, 1)
	} else {
		at = s.skip(at, 0)
	}
	if at >= 0 && s.space(at) != len(text) {
		s.fail(MalformedJSON, s.space(at), "there is something after the value")
		at = failed
	}
	// Bytes that are not UTF-8 count before any other fault. Without non-ASCII bytes in strings an accepted text is ASCII.
	if (at == failed || s.nonASCII) && !utf8.Valid(text) {
		return &Verdict{Code: InvalidUnicode, Reason: "the value is not UTF-8"}
	}
	switch {
	case at == failed:
		return &Verdict{Code: s.code, Reason: fmt.Sprintf("%s, at byte %d", s.reason, s.faultAt)}
	case !isObject:
		return &Verdict{Code: NotAnObject, Reason: "the value is JSON, but not an object"}
	case s.twice != nil:
		return &Verdict{Code: DuplicateKey, Field: s.twice.field, Reason: "the member occurs twice"}
	}
	return nil
}

// appendRow converts the columns. At the first fault the row is taken back.
func (d *Decoder) appendRow(b *block.Batch, name []byte, ts ident.EventMs) *Verdict {
	tables, times := b.Cols[len(d.columns)], b.Cols[len(d.columns)+1]
	row := tables.Len()
	for i := range d.columns {
		if v := d.appendColumn(&d.columns[i], b.Cols[i]); v != nil {
			takeBack(b.Cols[:i], row)
			return v
		}
	}
	if d.table == nil {
		var v *Verdict
		if name, v = d.computeTable(b, row); v != nil {
			takeBack(b.Cols[:len(d.columns)], row)
			return v
		}
	}
	tables.AppendBytes(name)
	times.AppendInt(int64(ts))
	return nil
}

func takeBack(cols []*block.Column, row int) {
	for _, c := range cols {
		c.Truncate(row)
	}
}
