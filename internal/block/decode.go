package block

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxDecodedBytes bounds the memory that one value may unfold to: a block is at most 1 MiB before compression and a
// request 4 MiB (DESIGN §4); what claims more than this is corrupt, not large.
const MaxDecodedBytes = 64 << 20

// Decoder turns the values of edge messages into batches. It reads what an Encoder writes (one schema, one record
// batch of our types, with or without body compression), checks every number before it uses it, and never panics.
// One goroutine at a time; the memory is kept from block to block.
//
// The decoder is our own and not Arrow's: Arrow's believes the lengths in the metadata, so that a few wrong bytes make
// it ask for more memory than the machine has, which no recover catches.
type Decoder struct {
	schemaMessage []byte // of the block before: mostly the same again
	schema        Schema
	unpacked      []byte // scratch for one decompressed buffer
	reader        bytes.Reader
	lz4           *lz4.Reader
	zstd          *zstd.Decoder
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// Decode replaces the content of into by the batch in value. Nothing of value is referred to afterwards. The columns of
// into are reused where their types fit; into.Schema must not be changed by the caller. Every error is an ErrCorrupt,
// and into is then empty or holds rows that must not be used.
func (d *Decoder) Decode(value []byte, into *Batch) error {
	if err := d.decode(value, into); err != nil {
		return fmt.Errorf("%w: value of %d bytes: %w", ErrCorrupt, len(value), err)
	}
	return nil
}

func (d *Decoder) decode(value []byte, into *Batch) error {
	schema, rest, err := readMessage(value)
	if err != nil {
		return fmt.Errorf("schema message: %w", err)
	}
	if err := d.useSchema(schema, into); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	batch, rest, err := readMessage(rest)
	if err != nil {
		return fmt.Errorf("record batch message: %w", err)
	}
	if err := readEnd(rest); err != nil {
		return err
	}
	return d.readBatch(batch, into)
}

// useSchema prepares into for the schema of the message.
func (d *Decoder) useSchema(m message, into *Batch) error {
	if d.schema == nil || !bytes.Equal(m.meta, d.schemaMessage) {
		d.schema, d.schemaMessage = nil, append(d.schemaMessage[:0], m.meta...)
		s, err := readSchema(m)
		if err != nil {
			return err
		}
		d.schema = s
	}
	if len(into.Cols) == len(d.schema) && slices.Equal(into.Schema, d.schema) {
		into.Schema = d.schema
		into.Reset()
		return nil
	}
	*into = *NewBatch(d.schema, 0)
	return nil
}

// readBatch fills the columns of into, which has the schema of the stream.
func (d *Decoder) readBatch(m message, into *Batch) error {
	src, err := newBatchSource(m, d)
	if err != nil {
		return err
	}
	for i, c := range into.Cols {
		if err := src.column(c); err != nil {
			return fmt.Errorf("column %d (%s %s): %w", i, into.Schema[i].Name, c.Type, err)
		}
	}
	if err := src.end(); err != nil {
		return err
	}
	return into.Check()
}

// batchSource hands out the nodes and buffers of a record batch in order.
type batchSource struct {
	d        *Decoder
	rows     int
	body     []byte
	meta     *flat
	nodes    vector
	buffers  vector
	codec    codec
	unfolded int // bytes handed out so far
}

// codec is the body compression of a record batch.
type codec uint8

const (
	codecNone codec = iota
	codecLZ4
	codecZSTD
)

// node is the metadata of one column.
type node struct{ rows, nulls int64 }

// column reads the next column into c, which is empty.
func (s *batchSource) column(c *Column) error {
	n, err := s.nextNode()
	if err != nil {
		return err
	}
	validity, err := s.nextBuffer()
	if err != nil {
		return err
	}
	if n.nulls > 0 {
		if len(validity) < bitmapBytes(s.rows) {
			return fmt.Errorf("validity bitmap of %d bytes for %d rows", len(validity), s.rows)
		}
		c.Null = unpackBits(slices.Grow(c.Null[:0], s.rows), validity, s.rows, 0xff)
	}
	values, err := s.nextBuffer()
	if err != nil {
		return err
	}
	switch c.Type.Kind {
	case KindBool:
		if len(values) < bitmapBytes(s.rows) {
			return fmt.Errorf("value bitmap of %d bytes for %d rows", len(values), s.rows)
		}
		c.Bool = unpackBits(slices.Grow(c.Bool[:0], s.rows), values, s.rows, 0)
		return nil
	case KindInt64, KindTimestamp:
		c.Int, err = readFixed(c.Int, values, s.rows, arrow.Int64Traits.CastToBytes)
	case KindFloat64:
		c.Float, err = readFixed(c.Float, values, s.rows, arrow.Float64Traits.CastToBytes)
	case KindDecimal:
		c.Dec, err = readFixed(c.Dec, values, s.rows, arrow.Decimal128Traits.CastToBytes)
	case KindString, KindJSON:
		return s.strings(c, values)
	case KindInvalid:
	}
	return err
}

// readFixed copies rows values of fixed width into dst's memory, whatever the alignment of src.
func readFixed[T any](dst []T, src []byte, rows int, asBytes func([]T) []byte) ([]T, error) {
	var one [1]T
	if width := len(asBytes(one[:])); len(src)/width < rows {
		return dst[:0], fmt.Errorf("%d bytes of values for %d rows", len(src), rows)
	}
	dst = slices.Grow(dst[:0], rows)[:rows]
	copy(asBytes(dst), src)
	return dst, nil
}

// strings reads the offsets, already at hand, and the data of a string column, and checks that every row is a range of
// whole UTF-8 characters.
func (s *batchSource) strings(c *Column, offsets []byte) error {
	if s.rows == 0 { // an empty column may leave out its offsets
		_, err := s.nextBuffer()
		return err
	}
	var err error
	if c.Off, err = readFixed(c.Off, offsets, s.rows+1, arrow.Int32Traits.CastToBytes); err != nil {
		return fmt.Errorf("offsets: %w", err)
	}
	data, err := s.nextBuffer()
	if err != nil {
		return err
	}
	end := c.Off[s.rows]
	if end < 0 || int(end) > len(data) {
		return fmt.Errorf("offsets end at %d, the data has %d bytes", end, len(data))
	}
	c.Data = append(c.Data[:0], data[:end]...)
	if !utf8.Valid(c.Data) {
		return fmt.Errorf("not UTF-8")
	}
	return checkOffsets(c.Off, c.Data)
}

// checkOffsets wants offsets that start at 0, never fall, and cut no character.
func checkOffsets(off []int32, data []byte) error {
	last, end := int32(0), int32(len(data))
	for i, o := range off {
		if o < last || o > end || (i == 0 && o != 0) {
			return fmt.Errorf("offset %d of row %d is out of order", o, i)
		}
		if o < end && !utf8.RuneStart(data[o]) {
			return fmt.Errorf("row %d begins inside a character", i)
		}
		last = o
	}
	return nil
}

// nextBuffer returns the next buffer's bytes, valid until the next call.
func (s *batchSource) nextBuffer() ([]byte, error) {
	at, err := s.buffers.next(s.meta)
	if err != nil {
		return nil, fmt.Errorf("buffer: %w", err)
	}
	offset, length := s.meta.long(at), s.meta.long(at+longLen)
	if offset < 0 || length < 0 || offset > int64(len(s.body)) || length > int64(len(s.body))-offset {
		return nil, fmt.Errorf("buffer [%d, +%d) in a body of %d bytes", offset, length, len(s.body))
	}
	raw := s.body[offset : offset+length]
	if s.codec == codecNone || length == 0 {
		return raw, nil
	}
	return s.unpack(raw)
}

// unpack decompresses a buffer: its length in 8 bytes (−1: it is stored as it is), then the frame.
func (s *batchSource) unpack(raw []byte) ([]byte, error) {
	if len(raw) < longLen {
		return nil, fmt.Errorf("compressed buffer of %d bytes", len(raw))
	}
	size := int64(binary.LittleEndian.Uint64(raw))
	frame := raw[longLen:]
	if size == -1 {
		return frame, nil
	}
	if size < 0 || size > MaxDecodedBytes-int64(s.unfolded) {
		return nil, fmt.Errorf("compressed buffer claims %d bytes", size)
	}
	s.unfolded += int(size)
	r, err := s.d.frameReader(s.codec, frame)
	if err != nil {
		return nil, fmt.Errorf("compressed buffer: %w", err)
	}
	// Memory is made for what the frame really holds, not for what it claims.
	out := s.d.unpacked[:0]
	for len(out) < int(size) {
		at, step := len(out), min(int(size)-len(out), unpackStep)
		out = slices.Grow(out, step)[:at+step]
		if _, err := io.ReadFull(r, out[at:]); err != nil {
			return nil, fmt.Errorf("compressed buffer of %d bytes: %w", size, err)
		}
	}
	s.d.unpacked = out
	return out, nil
}

// unpackStep is how much of a frame is unpacked at a time.
const unpackStep = 256 << 10

func (d *Decoder) frameReader(c codec, frame []byte) (io.Reader, error) {
	d.reader.Reset(frame)
	if c == codecLZ4 {
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(&d.reader)
		return d.lz4, nil
	}
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxDecodedBytes))
		if err != nil {
			return nil, err
		}
		d.zstd = z
	}
	return d.zstd, d.zstd.Reset(&d.reader)
}
