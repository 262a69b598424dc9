package results

import (
	"bufio"
	"bytes"
	"io"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/rowjson"
)

// bufferBytes is what a streamed answer gathers before it goes out.
const bufferBytes = 64 << 10

func newBuffered(to io.Writer) *bufio.Writer { return bufio.NewWriterSize(to, bufferBytes) }

// form writes batches of rows.
type form interface{ batch(b *block.Batch) error }

type newForm func(to *bufio.Writer, columns block.Schema) form

type ndjsonForm struct {
	to      *bufio.Writer
	encoder *rowjson.Encoder
	line    []byte
}

func newNDJSON(to *bufio.Writer, columns block.Schema) form {
	return &ndjsonForm{to: to, encoder: rowjson.NewEncoder(columns)}
}

func (f *ndjsonForm) batch(b *block.Batch) error {
	for i := range b.Rows() {
		f.line = append(f.encoder.AppendRow(f.line[:0], b.Cols, i), '\n')
		if _, err := f.to.Write(f.line); err != nil {
			return err
		}
	}
	return nil
}

type csvForm struct {
	to          *bufio.Writer
	line, field []byte
}

// newCSV writes the header: into the buffer, so that an empty result has one and an early error does not.
func newCSV(to *bufio.Writer, columns block.Schema) form {
	f := &csvForm{to: to}
	for i, c := range columns {
		f.add(i, []byte(c.Name))
	}
	f.line = append(f.line, "\r\n"...)
	_, _ = to.Write(f.line) // a bufio.Writer tells again at its Flush
	return f
}

func (f *csvForm) batch(b *block.Batch) error {
	for i := range b.Rows() {
		f.line = f.line[:0]
		for n, c := range b.Cols {
			f.value(n, c, i)
		}
		f.line = append(f.line, "\r\n"...)
		if _, err := f.to.Write(f.line); err != nil {
			return err
		}
	}
	return nil
}

// value adds the text of a value: that of its JSON form, without the quotes.
func (f *csvForm) value(n int, c *block.Column, i int) {
	switch {
	case c.IsNull(i):
		f.add(n, nil)
	case c.Type.Kind == block.KindString || c.Type.Kind == block.KindJSON:
		f.add(n, c.Bytes(i))
	default:
		f.field = rowjson.AppendValue(f.field[:0], c, i)
		f.add(n, bytes.Trim(f.field, `"`))
	}
}

// add adds a field to the line: nil as nothing, an empty text in quotes, so that they stay two.
func (f *csvForm) add(n int, text []byte) {
	if n > 0 {
		f.line = append(f.line, ',')
	}
	if text == nil || (len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n")) {
		f.line = append(f.line, text...)
		return
	}
	f.line = append(f.line, '"')
	f.line = append(f.line, bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...)
	f.line = append(f.line, '"')
}
