package state

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/manifest"
)

// version is what this binary writes and reads.
const version = 1

const magic = "PONDAGE-STATE %d\n"

// batchRows is the size of a batch: some hundred kilobytes with common aggregates, so that few bytes are not rows and a
// reader needs little memory.
const batchRows = 8192

// maxFrame is the largest frame, bytes. What claims more is damaged.
const maxFrame = block.MaxDecodedBytes

// Errors of Read; use errors.Is.
var (
	ErrDamaged = errors.New("the state file is damaged")
	ErrVersion = errors.New("the state file is of a version that this binary does not read")
	// ErrOperator says that the file is of another operator, or of other accumulators: the stream has changed.
	ErrOperator = errors.New("the state file does not fit the stream")
)

// Header is the first frame.
type Header struct {
	Operator manifest.Operator `json:"operator"`
}

// Partials hands out batches of partials; window.Frozen does.
type Partials interface {
	Partials(rows int, emit func(*block.Batch) error) error
}

// Write writes a file, and returns its number of rows.
func Write(w io.Writer, h Header, p Partials) (rows int64, err error) {
	out := frames{w: bufio.NewWriter(w)}
	out.printf(magic, version)
	head, err := json.Marshal(h)
	if err != nil {
		return 0, fmt.Errorf("write state: %w", err)
	}
	out.frame(head)
	encoder := block.NewEncoder(block.CompressionLZ4)
	var buffer []byte
	batches := uint64(0)
	err = p.Partials(batchRows, func(b *block.Batch) (err error) {
		if buffer, err = encoder.Append(buffer[:0], b); err != nil {
			return err
		}
		out.frame(buffer)
		rows += int64(b.Rows())
		batches++
		return out.err
	})
	out.frame(nil)
	out.frame(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(rows)), batches))
	if err = errors.Join(err, out.err, out.w.Flush()); err != nil {
		return 0, fmt.Errorf("write state: %w", err)
	}
	return rows, nil
}

// frames writes frames; err is the first failure.
type frames struct {
	w   *bufio.Writer
	err error
}

func (f *frames) printf(format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, args...)
	}
}

func (f *frames) frame(payload []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), block.ValueCRC(payload)))
	}
	if f.err == nil {
		_, f.err = f.w.Write(payload)
	}
}

// Read reads a file of the operator; take gets each batch, decoded into the batch that next returns. An error of take ends
// it.
//
// Errors: ErrDamaged, ErrVersion, ErrOperator, with what is wrong; those of take and of the reader.
func Read(r io.Reader, want manifest.Operator, next func() *block.Batch, take func(*block.Batch) error) error {
	in := &reader{r: bufio.NewReader(r)}
	if err := in.head(want); err != nil {
		return err
	}
	decoder := block.NewDecoder()
	var rows, batches uint64
	for {
		payload, err := in.frame()
		if err != nil {
			return err
		}
		if len(payload) == 0 {
			break
		}
		b := next()
		if err := decoder.Decode(payload, b); err != nil {
			return fmt.Errorf("%w: batch %d: %w", ErrDamaged, batches, err)
		}
		rows += uint64(b.Rows())
		batches++
		if err := take(b); err != nil {
			return fmt.Errorf("batch %d: %w", batches-1, err)
		}
	}
	return in.end(rows, batches)
}

// reader reads frames into memory of its own.
type reader struct {
	r       *bufio.Reader
	payload []byte
}

func (in *reader) head(want manifest.Operator) error {
	line, err := in.r.ReadString('\n')
	if err != nil {
		return damaged(err, "its first line has no end")
	}
	var v int
	if n, err := fmt.Sscanf(line, magic, &v); err != nil || n != 1 {
		return fmt.Errorf("%w: its first line is no state file's", ErrDamaged)
	}
	if v != version {
		return fmt.Errorf("%w: %d, this binary reads %d", ErrVersion, v, version)
	}
	payload, err := in.frame()
	if err != nil {
		return err
	}
	var h Header
	if err := json.Unmarshal(payload, &h); err != nil {
		return fmt.Errorf("%w: header: %w", ErrDamaged, err)
	}
	if h.Operator.ID != want.ID || !slices.Equal(h.Operator.Accumulators, want.Accumulators) {
		return fmt.Errorf("%w: it is of %s with %v, the stream has %s with %v",
			ErrOperator, h.Operator.ID, h.Operator.Accumulators, want.ID, want.Accumulators)
	}
	return nil
}

// frame returns the next frame; valid until the next call.
func (in *reader) frame() ([]byte, error) {
	const lengthAndCRC = 8
	var head [lengthAndCRC]byte
	if _, err := io.ReadFull(in.r, head[:]); err != nil {
		return nil, damaged(err, "it ends within a frame")
	}
	length, crc := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[lengthAndCRC/2:])
	if length > maxFrame {
		return nil, fmt.Errorf("%w: a frame of %d bytes", ErrDamaged, length)
	}
	var err error
	if in.payload, err = readFull(in.r, in.payload, int(length)); err != nil {
		return nil, damaged(err, "it ends within a frame")
	}
	if block.ValueCRC(in.payload) != crc {
		return nil, fmt.Errorf("%w: the CRC of a frame of %d bytes is wrong", ErrDamaged, length)
	}
	return in.payload, nil
}

// readFull reads n bytes. It asks for memory as the bytes come: a length alone is no reason to.
func readFull(r io.Reader, into []byte, n int) ([]byte, error) {
	const step = 1 << 20
	into = into[:0]
	for len(into) < n {
		have := len(into)
		into = slices.Grow(into, min(step, n-have))[:min(have+step, n)]
		if _, err := io.ReadFull(r, into[have:]); err != nil {
			return into[:have], err
		}
	}
	return into, nil
}

// end checks the last frame, and that nothing stands behind it.
func (in *reader) end(rows, batches uint64) error {
	payload, err := in.frame()
	if err != nil {
		return err
	}
	want := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rows), batches)
	if !slices.Equal(payload, want) {
		return fmt.Errorf("%w: it has %d rows in %d batches, and says otherwise", ErrDamaged, rows, batches)
	}
	if _, err := in.r.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged(err, "something stands behind its end")
	}
	return nil
}

// damaged tells a file that ends too early from a reader that fails.
func damaged(err error, what string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return err
}
