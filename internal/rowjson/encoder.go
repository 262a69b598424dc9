package rowjson

import (
	"github.com/pondage/pondage/internal/block"
)

// Encoder appends rows of one schema.
type Encoder struct {
	schema block.Schema
	names  [][]byte    // `"name":` per column, after `{` or `,`
	times  []timeCache // per column
}

// NewEncoder returns an encoder for rows with the schema.
func NewEncoder(schema block.Schema) *Encoder {
	e := &Encoder{schema: schema, names: make([][]byte, len(schema)), times: make([]timeCache, len(schema))}
	for i, f := range schema {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		e.names[i] = append(appendString([]byte{sep}, f.Name), ':')
	}
	return e
}

// AppendRow appends row i of the columns, which have the encoder's schema, as a JSON object.
func (e *Encoder) AppendRow(dst []byte, cols []*block.Column, i int) []byte {
	for c, col := range cols {
		dst = append(dst, e.names[c]...)
		dst = e.appendValue(dst, c, col, i)
	}
	if len(cols) == 0 {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// AppendKey appends the JSON array of the given columns of row i, without white space: a natural key.
func (e *Encoder) AppendKey(dst []byte, cols []*block.Column, key []int, i int) []byte {
	dst = append(dst, '[')
	for n, c := range key {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendValue(dst, c, cols[c], i)
	}
	return append(dst, ']')
}

func (e *Encoder) appendValue(dst []byte, c int, col *block.Column, i int) []byte {
	if col.IsNull(i) {
		return append(dst, "null"...)
	}
	if col.Type.Kind == block.KindTimestamp {
		return e.times[c].append(dst, col.Int[i])
	}
	return AppendValue(dst, col, i)
}
