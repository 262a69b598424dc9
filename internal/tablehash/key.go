package tablehash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/cespare/xxhash/v2"

	"github.com/pondage/pondage/internal/block"
)

// Each value of an encoded key is a tag and, by tag: nothing, 8 bytes, a scale and 16 bytes, or a length and that many
// bytes. Numbers are big-endian. The tags are in stored state and in names: never reuse one.
const (
	tagNull byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagDecimal
	tagString
	tagTimestamp
	tagJSON
)

// canonicalNaN is the one NaN of a key.
const canonicalNaN = 0x7ff8000000000001

// AppendKey appends the canonical encoding of one row of the key columns to dst: equal bytes, equal group.
func AppendKey(dst []byte, cols []*block.Column, row int) []byte {
	for _, c := range cols {
		dst = appendValue(dst, c, row)
	}
	return dst
}

func appendValue(dst []byte, c *block.Column, row int) []byte {
	if c.IsNull(row) {
		return append(dst, tagNull)
	}
	switch c.Type.Kind {
	case block.KindBool:
		if c.Bool[row] {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case block.KindInt64:
		return binary.BigEndian.AppendUint64(append(dst, tagInt), uint64(c.Int[row]))
	case block.KindFloat64:
		return binary.BigEndian.AppendUint64(append(dst, tagFloat), floatBits(c.Float[row]))
	case block.KindDecimal:
		dst = append(dst, tagDecimal, c.Type.Scale)
		dst = binary.BigEndian.AppendUint64(dst, uint64(c.Dec[row].HighBits()))
		return binary.BigEndian.AppendUint64(dst, c.Dec[row].LowBits())
	case block.KindString:
		return appendText(append(dst, tagString), c.Bytes(row))
	case block.KindTimestamp:
		return binary.BigEndian.AppendUint64(append(dst, tagTimestamp), uint64(c.Int[row]))
	case block.KindJSON:
		return appendText(append(dst, tagJSON), c.Bytes(row))
	case block.KindInvalid:
	}
	panic("tablehash: key column without a type")
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// floatBits makes one value of all NaNs and one of the two zeros.
func floatBits(x float64) uint64 {
	switch {
	case x != x:
		return canonicalNaN
	case x == 0:
		return 0
	}
	return math.Float64bits(x)
}

// GroupID is the id of a group by its key's encoding: xxhash64. It names, it does not identify.
func GroupID(key []byte) uint64 { return xxhash.Sum64(key) }

// GroupIDLen is the length of a group id's text.
const GroupIDLen = 16

// AppendGroupID appends the text of a group id: 16 hexadecimal digits, lower case.
func AppendGroupID(dst []byte, id uint64) []byte {
	const hexDigits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[id>>shift&0xf])
	}
	return dst
}

// ErrKey means that bytes are not the encoding of a key of the given columns.
var ErrKey = errors.New("malformed group key")

// DecodeKey appends the values of an encoded key to the columns, one row each; it is the inverse of AppendKey. On an
// error, which is an ErrKey, some of the columns may have the row already.
func DecodeKey(key []byte, cols []*block.Column) error {
	rest := key
	for i, c := range cols {
		n, err := decodeValue(rest, c)
		if err != nil {
			return fmt.Errorf("%w: value %d of %x as %s: %w", ErrKey, i, key, c.Type, err)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes after the last value of %x", ErrKey, len(rest), key)
	}
	return nil
}

var (
	errShort = errors.New("it is cut off")
	errTag   = errors.New("it has another type")
)

// kindOf tells which kind of column a tag belongs to; null fits any.
var kindOf = [...]block.Kind{tagFalse: block.KindBool, tagTrue: block.KindBool, tagInt: block.KindInt64, tagFloat: block.KindFloat64,
	tagDecimal: block.KindDecimal, tagString: block.KindString, tagTimestamp: block.KindTimestamp, tagJSON: block.KindJSON}

// decodeValue appends the value at the start of rest to c and returns its encoded length.
func decodeValue(rest []byte, c *block.Column) (int, error) {
	if len(rest) == 0 {
		return 0, errShort
	}
	tag, body := rest[0], rest[1:]
	if tag == tagNull {
		c.AppendNull()
		return 1, nil
	}
	if int(tag) >= len(kindOf) || kindOf[tag] != c.Type.Kind {
		return 0, errTag
	}
	switch tag {
	case tagFalse, tagTrue:
		c.AppendBool(tag == tagTrue)
		return 1, nil
	case tagString, tagJSON:
		return decodeText(body, c)
	case tagDecimal:
		return decodeDecimal(body, c)
	}
	const numberLen = 8
	if len(body) < numberLen {
		return 0, errShort
	}
	bits := binary.BigEndian.Uint64(body)
	if tag == tagFloat {
		c.AppendFloat(math.Float64frombits(bits))
	} else {
		c.AppendInt(int64(bits))
	}
	return 1 + numberLen, nil
}

func decodeText(body []byte, c *block.Column) (int, error) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return 0, errShort
	}
	c.AppendBytes(body[n : n+int(size)])
	return 1 + n + int(size), nil
}

func decodeDecimal(body []byte, c *block.Column) (int, error) {
	const scaleLen, halfLen = 1, 8
	if len(body) < scaleLen+2*halfLen {
		return 0, errShort
	}
	if body[0] != c.Type.Scale {
		return 0, errTag
	}
	hi, lo := binary.BigEndian.Uint64(body[scaleLen:]), binary.BigEndian.Uint64(body[scaleLen+halfLen:])
	c.AppendDec(decimal128.New(int64(hi), lo))
	return 1 + scaleLen + 2*halfLen, nil
}
