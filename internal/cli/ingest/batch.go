package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pondage/pondage/internal/decode"
)

// Batch is some records, one a line: the body of one request.
type Batch struct {
	Body    []byte
	Records int
}

// Batches cuts an input into batches.
type Batches struct {
	next func() ([]byte, error) // the next record, valid until the next call; io.EOF at the end
	max  int                    // records in a batch
}

// batchBytes bounds a batch: large enough that the round trip to Kafka does not count, far below the 32 MiB that a worker
// takes. One record may be longer.
const batchBytes = 4 << 20

// NewBatches reads records from r: lines, or the elements of a JSON array; gzip is recognised by its first bytes. most is
// the number of records in a batch.
func NewBatches(r io.Reader, most int) (*Batches, error) {
	in, err := plain(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	first, err := firstByte(in)
	if err != nil {
		return nil, err
	}
	if first == '[' {
		return &Batches{next: elements(json.NewDecoder(in)), max: most}, nil
	}
	return &Batches{next: decode.NewLines(in).Next, max: most}, nil
}

var gzipMagic = []byte{0x1f, 0x8b}

// plain unpacks what is packed.
func plain(r *bufio.Reader) (*bufio.Reader, error) {
	head, err := r.Peek(len(gzipMagic))
	if err != nil || !bytes.Equal(head, gzipMagic) {
		return r, nil // shorter than two bytes: not packed
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return bufio.NewReader(z), nil
}

// firstByte looks at the first byte that is no white space; lines before it that are empty are records and stay.
func firstByte(r *bufio.Reader) (byte, error) {
	for n := 1; ; n++ {
		head, err := r.Peek(n)
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if c := head[n-1]; !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
			return c, nil
		}
	}
}

// elements reads the elements of an array; each becomes a line.
func elements(d *json.Decoder) func() ([]byte, error) {
	begun := false
	return func() ([]byte, error) {
		if !begun {
			if _, err := d.Token(); err != nil {
				return nil, inArray(err)
			}
			begun = true
		}
		if !d.More() {
			if _, err := d.Token(); err != nil { // the closing bracket
				return nil, inArray(err)
			}
			return nil, io.EOF
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, inArray(err)
		}
		var line bytes.Buffer
		err := json.Compact(&line, raw)
		return line.Bytes(), err
	}
}

// inArray is an error of the array: its text must not end before the closing bracket.
func inArray(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("JSON array: %w", err)
}

// Next returns the next batch, io.EOF at the end. The records before an error of the input come first.
func (b *Batches) Next() (Batch, error) {
	var out Batch
	for out.Records < b.max && len(out.Body) < batchBytes {
		record, err := b.next()
		if err != nil && out.Records > 0 {
			b.next = func() ([]byte, error) { return nil, err }
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Body = append(append(out.Body, record...), '\n')
		out.Records++
	}
	return out, nil
}
