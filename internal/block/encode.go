package block

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Compression is how the body of a block is compressed. Readers find it in the block itself.
type Compression uint8

// The body compressions of Arrow IPC.
const (
	CompressionNone Compression = iota
	CompressionLZ4
	CompressionZSTD
)

// When compression is on it is tried on batches of at least minCompressBytes in memory (below, the frames cost more than
// they save), and kept per column buffer only if it saves at least minSaving of it.
const (
	minCompressBytes = 16 << 10
	minSaving        = 0.1
)

// Encoder turns batches into the values of edge messages: Arrow IPC streams of one schema and one record batch. The
// columns' slices are handed to Arrow as they are. One goroutine at a time; the memory is kept from block to block.
type Encoder struct {
	compression Compression
	schema      Schema // of the batch before; rebuilt when it changes
	arrow       *arrow.Schema
	arrays      []arrow.Array
	bitmaps     [][]byte // scratch, one for each null bitmap and bool column of a batch
	used        int
	out         appendWriter
}

// NewEncoder returns an Encoder.
func NewEncoder(c Compression) *Encoder { return &Encoder{compression: c} }

// appendWriter is an io.Writer onto a slice.
type appendWriter struct{ buf []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// Append appends the Arrow IPC stream of b to dst and returns the extended slice. It fails when b breaks the invariants
// of a batch; dst is returned unchanged then.
func (e *Encoder) Append(dst []byte, b *Batch) ([]byte, error) {
	if err := b.Check(); err != nil {
		return dst, fmt.Errorf("encode block: %w", err)
	}
	if e.arrow == nil || !slices.Equal(e.schema, b.Schema) {
		s, err := arrowSchema(b.Schema)
		if err != nil {
			return dst, fmt.Errorf("encode block: %w", err)
		}
		e.schema, e.arrow = slices.Clone(b.Schema), s
	}
	e.arrays, e.used = e.arrays[:0], 0
	for i, c := range b.Cols {
		e.arrays = append(e.arrays, e.array(e.arrow.Field(i).Type, c))
	}
	rec := array.NewRecordBatch(e.arrow, e.arrays, int64(b.Rows()))
	defer rec.Release()

	e.out.buf = dst
	w := ipc.NewWriter(&e.out, e.options(b)...)
	err := w.Write(rec)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	out := e.out.buf
	e.out.buf = nil
	if err != nil {
		return dst, fmt.Errorf("encode block of %d rows: %w", b.Rows(), err)
	}
	return out, nil
}

func (e *Encoder) options(b *Batch) []ipc.Option {
	opts := []ipc.Option{ipc.WithSchema(e.arrow)}
	if e.compression == CompressionNone || b.MemBytes() < minCompressBytes {
		return opts
	}
	opts = append(opts, ipc.WithMinSpaceSavings(minSaving))
	if e.compression == CompressionZSTD {
		return append(opts, ipc.WithZstd())
	}
	return append(opts, ipc.WithLZ4())
}

// array wraps the slices of c; only null marks and booleans are repacked, into bits.
func (e *Encoder) array(t arrow.DataType, c *Column) arrow.Array {
	var validity *memory.Buffer
	nulls := 0
	for _, null := range c.Null {
		if null {
			nulls++
		}
	}
	if nulls > 0 {
		bits := e.bitmap(c.Len())
		packBits(bits, c.Null, 0xff)
		validity = memory.NewBufferBytes(bits)
	}
	buffers := []*memory.Buffer{validity}
	switch c.Type.Kind {
	case KindBool:
		bits := e.bitmap(c.Len())
		packBits(bits, c.Bool, 0)
		buffers = append(buffers, memory.NewBufferBytes(bits))
	case KindInt64, KindTimestamp:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(c.Int)))
	case KindFloat64:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(c.Float)))
	case KindDecimal:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Decimal128Traits.CastToBytes(c.Dec)))
	case KindString, KindJSON:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.Off)), memory.NewBufferBytes(c.Data))
	case KindInvalid:
	}
	data := array.NewData(t, c.Len(), buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// bitmap returns scratch for n bits that no other column of this batch uses.
func (e *Encoder) bitmap(n int) []byte {
	if e.used == len(e.bitmaps) {
		e.bitmaps = append(e.bitmaps, nil)
	}
	bits := slices.Grow(e.bitmaps[e.used][:0], bitmapBytes(n))[:bitmapBytes(n)]
	e.bitmaps[e.used] = bits
	e.used++
	return bits
}
