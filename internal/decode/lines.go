package decode

import (
	"bufio"
	"errors"
	"io"
)

// Lines cuts a file into records: at LF bytes only, whatever else is in between, without a limit of length.
type Lines struct {
	r    *bufio.Reader
	line []byte
}

// NewLines reads from r, in pieces.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReader(r)} }

// Next returns the bytes up to the next LF, without it, valid until the next call. Bytes after the last LF are a record
// too, if there are any. At the end it returns io.EOF; other errors are those of the reader.
func (l *Lines) Next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		piece, err := l.r.ReadSlice('\n')
		switch {
		case err == nil:
			piece = piece[:len(piece)-1]
			if len(l.line) == 0 {
				return piece, nil
			}
			l.line = append(l.line, piece...)
			return l.line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.line = append(l.line, piece...)
		case errors.Is(err, io.EOF) && len(l.line)+len(piece) > 0:
			l.line = append(l.line, piece...)
			return l.line, nil
		default:
			return nil, err
		}
	}
}
