package sink

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// An interval file holds result records in order: for each the length of its key, the key, the length of its value plus one
// (0: no value), the value; lengths are unsigned varints. The store verifies the file as a whole before it is read.

// maxField bounds a key or value that is read, bytes: above what any broker takes.
const maxField = 64 << 20

func appendField(buf, field []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(field))), field...)
}

// appendRecord appends a record; value nil is none.
func appendRecord(buf, key, value []byte) []byte {
	buf = appendField(buf, key)
	if value == nil {
		return append(buf, 0)
	}
	return append(binary.AppendUvarint(buf, uint64(len(value))+1), value...)
}

// errInterval says that an interval file does not hold what was written: the binary that wrote it does it in another way.
var errInterval = errors.New("the interval file cannot be read")

// readRecords hands the records of an interval file on; they are the callee's to keep. An error of take ends it.
func readRecords(in io.Reader, take func(key, value []byte) error) error {
	r := bufio.NewReader(in)
	for {
		key, _, err := readField(r, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errInterval, err)
		}
		value, _, err := readField(r, 1)
		if err != nil {
			return fmt.Errorf("%w: %w", errInterval, err)
		}
		if err := take(key, value); err != nil {
			return err
		}
	}
}

// readField reads a length, less off, and that many bytes; a length below off is no field. io.EOF: there is nothing more.
func readField(r *bufio.Reader, off uint64) (field []byte, ok bool, err error) {
	n, err := binary.ReadUvarint(r)
	switch {
	case err != nil:
		return nil, false, err
	case n < off:
		return nil, false, nil
	case n-off > maxField:
		return nil, false, fmt.Errorf("a field of %d bytes", n-off)
	}
	field = make([]byte, n-off)
	if _, err := io.ReadFull(r, field); err != nil {
		return nil, false, fmt.Errorf("a field of %d bytes: %w", n-off, io.ErrUnexpectedEOF)
	}
	return field, true, nil
}
