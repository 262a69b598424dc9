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
)

// reader reads frames into memory of its own.
type reader struct {
	r       *bufio.Reader
	payload []byte
}

func (in *reader) header() (h Header, err error) {
	line, err := in.r.ReadString('\n')
	if err != nil {
		return h, damaged(err, "its first line has no end")
	}
	var v int
	if n, err := fmt.Sscanf(line, magic, &v); err != nil || n != 1 {
		return h, fmt.Errorf("%w: its first line is no state file's", ErrDamaged)
	}
	if v != version {
		return h, fmt.Errorf("%w: %d, this binary reads %d", ErrVersion, v, version)
	}
	payload, err := in.frame()
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(payload, &h); err != nil {
		return h, fmt.Errorf("%w: header: %w", ErrDamaged, err)
	}
	return h, nil
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
