package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// The two verdicts.
const (
	verdictAccept = "accept"
	verdictRefuse = "dead_letter"
)

// longText is the number of characters above which a string is shown by its length and hash.
const longText = 1000

// digest stands for a long string: the length and SHA-256 of its UTF-8 bytes.
type digest struct {
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
}

func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest{Length: len(text), SHA256: hex.EncodeToString(sum[:])}
}

// Reader decodes records one by one and shows the results.
type Reader struct {
	decoder *decode.Decoder
	batch   *block.Batch
	line    int
}

// NewReader returns a Reader for records of the decoder's schema.
func NewReader(d *decode.Decoder) *Reader {
	return &Reader{decoder: d, batch: block.NewBatch(d.Schema().Block(), 1)}
}

// decode returns the verdict on a record; the row of an accepted one is row 0 of the batch.
func (r *Reader) decode(record []byte) decode.Verdict {
	r.batch.Reset()
	return r.decoder.Append(record, decode.AnyTime(), r.batch)
}

// AppendLine decodes the next record and appends what became of it, one JSON object without a line feed:
// {line, verdict, row} or {line, verdict, code, field?, reason}. Numbers of the row are strings, so that no reader
// rounds them.
func (r *Reader) AppendLine(dst, record []byte) []byte {
	r.line++
	v := r.decode(record)
	dst = append(dst, `{"line":`...)
	dst = strconv.AppendInt(dst, int64(r.line), 10)
	dst = append(dst, `,"verdict":"`...)
	if v.OK() {
		dst = append(dst, verdictAccept+`","row":`...)
		return append(appendRow(dst, r.batch), '}')
	}
	dst = append(dst, verdictRefuse+`","code":`...)
	dst = appendText(dst, []byte(v.Code))
	if v.Field != "" {
		dst = appendText(append(dst, `,"field":`...), []byte(v.Field))
	}
	return append(appendText(append(dst, `,"reason":`...), []byte(v.Reason)), '}')
}

// appendRow appends row 0 of a decoder's batch: table, ts, then the declared columns.
func appendRow(dst []byte, b *block.Batch) []byte {
	declared := len(b.Cols) - 2
	dst = appendValue(append(dst, `{"table":`...), b.Cols[declared])
	dst = appendValue(append(dst, `,"ts":`...), b.Cols[declared+1])
	for i := range declared {
		dst = appendText(append(dst, ','), []byte(b.Schema[i].Name))
		dst = appendValue(append(dst, ':'), b.Cols[i])
	}
	return append(dst, '}')
}

// appendValue appends row 0 of a column.
func appendValue(dst []byte, c *block.Column) []byte {
	if c.IsNull(0) {
		return append(dst, "null"...)
	}
	switch c.Type.Kind {
	case block.KindBool:
		return strconv.AppendBool(dst, c.Bool[0])
	case block.KindString, block.KindJSON:
		text := c.Bytes(0)
		if utf8.RuneCount(text) <= longText {
			return appendText(dst, text)
		}
		short, _ := json.Marshal(digestOf(text)) // an int and a string: it cannot fail
		return append(dst, short...)
	}
	return append(append(append(dst, '"'), numberText(c)...), '"')
}

// numberText is row 0 of a column of numbers or times.
func numberText(c *block.Column) string {
	switch c.Type.Kind {
	case block.KindFloat64:
		return floatText(c.Float[0])
	case block.KindDecimal:
		return c.Dec[0].ToString(int32(c.Type.Scale))
	}
	return strconv.FormatInt(c.Int[0], 10)
}

// floatText is the shortest decimal that reads back as x, without an exponent while that is short.
func floatText(x float64) string {
	const plainFrom, plainBelow = 1e-6, 1e21
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case x == 0 || math.Abs(x) >= plainFrom && math.Abs(x) < plainBelow:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func appendText(dst, text []byte) []byte {
	quoted, _ := json.Marshal(string(text)) // a string: it cannot fail
	return append(dst, quoted...)
}
