package state

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/window"
)

// version is what this binary writes and reads.
const version = 1

const magic = "PONDAGE-STATE %d\n"

// batchRows is the size of a batch: some hundred kilobytes with common aggregates, so that few bytes are not rows and a
// reader needs little memory.
const batchRows = 8192

// maxFrame is the largest frame, bytes. What claims more is damaged.
const maxFrame = block.MaxDecodedBytes

// Errors of Restore and Read; use errors.Is.
var (
	ErrDamaged = errors.New("the state file is damaged")
	ErrVersion = errors.New("the state file is of a version that this binary does not read")
	// ErrOperator says that the file is of another operator, or has accumulators that the stream has no more.
	ErrOperator = errors.New("the state file does not fit the stream")
)

// Header is the first frame.
type Header struct {
	Operator manifest.Operator `json:"operator"`
	Partial  *Partial          `json:"partial,omitempty"`
}

// Partial is window.Partial with the accumulators' names. Write fills it in.
type Partial struct {
	Accumulators []string      `json:"accumulators"`
	Since        ident.EventMs `json:"since"`
	Through      ident.EventMs `json:"through"`
}

// Write writes a file, and returns its number of rows. What of the windows is partial is added to the header.
func Write(w io.Writer, h Header, f *window.Frozen) (rows int64, err error) {
	out := frames{w: bufio.NewWriter(w)}
	out.printf(magic, version)
	h.Partial = named(f.Partial, h.Operator.Accumulators)
	head, err := json.Marshal(h)
	if err != nil {
		return 0, fmt.Errorf("write state: %w", err)
	}
	out.frame(head)
	encoder := block.NewEncoder(block.CompressionLZ4)
	var buffer []byte
	batches := uint64(0)
	err = f.Partials(batchRows, func(b *block.Batch) (err error) {
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

func named(p window.Partial, accumulators []string) *Partial {
	if len(p.Aggs) == 0 {
		return nil
	}
	out := &Partial{Since: p.Since, Through: p.Through}
	for _, a := range p.Aggs {
		out.Accumulators = append(out.Accumulators, accumulators[a])
	}
	return out
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
