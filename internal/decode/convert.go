package decode

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/numtext"
)

// maxTableName is the longest table name, in bytes (DESIGN §8).
const maxTableName = 192

// at returns the value's text, quotes included.
func (s *scanner) at(n *node) []byte { return s.text[n.start:n.end] }

// absent tells whether the record has nothing, or null, at the node.
func (s *scanner) absent(n *node) bool { return n.seen != s.record || n.kind == kindNull }

// chars returns the characters of the string at a node; it unescapes into buf if it must. It is not ok if the string
// has half a surrogate pair.
func (s *scanner) chars(n *node, buf *[]byte) (text []byte, ok bool) {
	text = s.text[n.start+1 : n.end-1]
	if !n.escaped {
		return text, true
	}
	*buf, ok = unescape((*buf)[:0], text)
	return *buf, ok
}

// readTable returns the table name, valid until the next record.
func (d *Decoder) readTable() ([]byte, *Verdict) {
	field := d.table.field
	if d.scan.absent(d.table) {
		return nil, &Verdict{Code: MissingTable, Field: field, Reason: "the record has no table name"}
	}
	if d.table.kind != kindString {
		return nil, &Verdict{Code: BadTable, Field: field, Reason: "the table name is " + kindNames[d.table.kind]}
	}
	name, ok := d.scan.chars(d.table, &d.name)
	if !ok {
		return nil, halfPair(field)
	}
	if len(name) == 0 || len(name) > maxTableName {
		return nil, badTableLength(name, field)
	}
	// Only an escape can bring a NUL: a bare one is malformed JSON.
	if d.table.escaped && bytes.IndexByte(name, 0) >= 0 {
		return nil, nulInTable(field)
	}
	return name, nil
}

func badTableLength(name []byte, field string) *Verdict {
	return &Verdict{Code: BadTable, Field: field, Reason: fmt.Sprintf("the table name has %d bytes: want 1 to %d", len(name), maxTableName)}
}

func nulInTable(field string) *Verdict {
	return &Verdict{Code: BadTable, Field: field, Reason: "the table name has a NUL"}
}

// computeTable asks the schema's function for the table name of the row whose columns are in b.
func (d *Decoder) computeTable(b *block.Batch, row int) ([]byte, *Verdict) {
	name, err := d.schema.TableOf(b, row)
	if err != nil {
		return nil, &Verdict{Code: BadTable, Reason: err.Error()}
	}
	if name == nil {
		return nil, &Verdict{Code: MissingTable, Reason: "the expression of the table name is null"}
	}
	if len(name) == 0 || len(name) > maxTableName {
		return nil, badTableLength(name, "")
	}
	if bytes.IndexByte(name, 0) >= 0 {
		return nil, nulInTable("")
	}
	return name, nil
}

func halfPair(field string) *Verdict {
	return &Verdict{Code: InvalidUnicode, Field: field, Reason: "a surrogate escape has no other half"}
}

// readTime returns the event time.
func (d *Decoder) readTime(limits Limits) (ident.EventMs, *Verdict) {
	n, field := d.time, d.time.field
	if d.scan.absent(n) {
		return 0, &Verdict{Code: MissingTime, Field: field, Reason: "the record has no event time"}
	}
	if n.kind == kindString {
		if _, ok := d.scan.chars(n, &d.scratch); !ok {
			return 0, halfPair(field)
		}
	}
	ms, fit := d.timeAt(n, d.schema.Unit)
	switch {
	case fit == numtext.TimeMalformed:
		return 0, &Verdict{Code: BadTime, Field: field, Reason: fmt.Sprintf("%s is not an event time: want an integral number, or RFC 3339 with an offset", quoteStart(d.scan.at(n)))}
	case fit == numtext.TimeOutOfRange:
		return 0, &Verdict{Code: TimeOutOfRange, Field: field, Reason: fmt.Sprintf("%s is outside the years 0001 to 9999", quoteStart(d.scan.at(n)))}
	case ms < limits.Earliest:
		return 0, &Verdict{Code: TimeOutOfRange, Field: field, Reason: fmt.Sprintf("%s is before min_time", quoteStart(d.scan.at(n)))}
	case ms > limits.Latest:
		return 0, &Verdict{Code: TimeOutOfRange, Field: field, Reason: fmt.Sprintf("%s is further ahead of the clock than max_future", quoteStart(d.scan.at(n)))}
	}
	return ms, nil
}

// timeAt reads the value at a node, which is there, as a time. A number must be integral in its unit.
func (d *Decoder) timeAt(n *node, unit Unit) (ident.EventMs, numtext.TimeFit) {
	switch n.kind {
	case kindNumber:
		ms, fit := epochMs(n.number, d.scan.at(n), unit)
		return ident.EventMs(ms), fit
	case kindString:
		text, _ := d.scan.chars(n, &d.scratch)
		ms, fit := numtext.ParseTime(text)
		return ident.EventMs(ms), fit
	}
	return 0, numtext.TimeMalformed
}

// epochMs turns a number of units since the epoch into milliseconds, rounded towards the past.
func epochMs(n numtext.Number, text []byte, unit Unit) (int64, numtext.TimeFit) {
	const msPerSecond, usPerMs, nsPerMs = 1000, 1000, 1_000_000
	v, fit := n.Int64(text)
	if fit == numtext.FitOutOfRange && unit == Nanoseconds {
		return wideNanoseconds(n, text)
	}
	switch fit {
	case numtext.FitFraction:
		return 0, numtext.TimeMalformed
	case numtext.FitOutOfRange:
		return 0, numtext.TimeOutOfRange
	case numtext.FitExact:
	}
	switch unit {
	case Seconds:
		if v < numtext.MinTimeMs/msPerSecond || v > numtext.MaxTimeMs/msPerSecond {
			return 0, numtext.TimeOutOfRange
		}
		v *= msPerSecond
	case Microseconds:
		v = floorDiv(v, usPerMs)
	case Nanoseconds:
		v = floorDiv(v, nsPerMs)
	case Milliseconds:
	}
	return inYears(v)
}

func inYears(ms int64) (int64, numtext.TimeFit) {
	if ms < numtext.MinTimeMs || ms > numtext.MaxTimeMs {
		return 0, numtext.TimeOutOfRange
	}
	return ms, numtext.TimeExact
}

// wideNanoseconds reads nanoseconds beyond 64 bits: from the year 2262 on and before 1678.
func wideNanoseconds(n numtext.Number, text []byte) (int64, numtext.TimeFit) {
	const nsPerMs = 1_000_000
	v, fit := n.Decimal(text, block.MaxDecimalPrecision, 0)
	if fit != numtext.FitExact {
		return 0, numtext.TimeOutOfRange
	}
	ms, rest := v.Div(decimal128.FromU64(nsPerMs))
	if rest.Sign() < 0 {
		ms = ms.Sub(decimal128.FromU64(1))
	}
	if ms.Less(decimal128.FromI64(numtext.MinTimeMs)) || ms.Greater(decimal128.FromI64(numtext.MaxTimeMs)) {
		return 0, numtext.TimeOutOfRange
	}
	return int64(ms.LowBits()), numtext.TimeExact
}

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// appendColumn converts the value of a column and appends it, or says what is wrong with it.
func (d *Decoder) appendColumn(c *column, dst *block.Column) *Verdict {
	if d.scan.absent(c.node) {
		dst.AppendNull()
		return nil
	}
	switch c.typ.Kind {
	case block.KindInt64:
		return d.appendInt(c, dst)
	case block.KindFloat64:
		return d.appendFloat(c, dst)
	case block.KindString:
		return d.appendString(c, dst)
	case block.KindBool:
		if c.kind == kindBool {
			dst.AppendBool(d.scan.text[c.start] == 't')
			return nil
		}
	case block.KindDecimal:
		return d.appendDecimal(c, dst)
	case block.KindTimestamp:
		return d.appendTimestamp(c, dst)
	case block.KindJSON:
		return d.appendJSON(c, dst)
	case block.KindInvalid:
	}
	return d.wrongType(c)
}

// wrongType refuses the value of a column; a string that is no text at all is refused as that.
func (d *Decoder) wrongType(c *column) *Verdict {
	if c.kind == kindString {
		if _, ok := d.scan.chars(c.node, &d.scratch); !ok {
			return halfPair(c.name)
		}
	}
	return d.refuse(WrongType, c, "is "+kindNames[c.kind]+", not a value of type "+c.typ.String())
}

// refuse says what is wrong with the value of a column.
func (d *Decoder) refuse(code Code, c *column, what string) *Verdict {
	return &Verdict{Code: code, Field: c.name, Reason: fmt.Sprintf("%s %s", quoteStart(d.scan.at(c.node)), what)}
}

// quoteStart returns the start of a value for a reason.
func quoteStart(text []byte) string {
	const longest = 40 // bytes; enough to recognise it
	if len(text) > longest {
		return string(bytes.ToValidUTF8(text[:longest], nil)) + "…"
	}
	return string(text)
}

// exactNumber returns the number of a column that takes numbers and strings that hold one, with its literal.
func (d *Decoder) exactNumber(c *column) (n numtext.Number, literal []byte, ok bool) {
	switch c.kind {
	case kindNumber:
		return c.number, d.scan.at(c.node), true
	case kindString:
		text, whole := d.scan.chars(c.node, &d.scratch)
		n, end, ok := numtext.Scan(text, 0)
		return n, text, whole && ok && end == len(text)
	}
	return n, nil, false
}

func (d *Decoder) appendInt(c *column, dst *block.Column) *Verdict {
	n, literal, ok := d.exactNumber(c)
	if !ok {
		return d.wrongType(c)
	}
	v, fit := n.Int64(literal)
	if fit != numtext.FitExact {
		return d.misfit(c, fit, NotIntegral)
	}
	dst.AppendInt(v)
	return nil
}

func (d *Decoder) appendDecimal(c *column, dst *block.Column) *Verdict {
	n, literal, ok := d.exactNumber(c)
	if !ok {
		return d.wrongType(c)
	}
	v, fit := n.Decimal(literal, c.typ.Precision, c.typ.Scale)
	if fit != numtext.FitExact {
		fraction := OutOfRange
		if c.typ.Scale == 0 {
			fraction = NotIntegral
		}
		return d.misfit(c, fit, fraction)
	}
	dst.AppendDec(v)
	return nil
}

// misfit refuses a number that is not exactly one of the column's type; fraction is the code for digits too many after
// the point.
func (d *Decoder) misfit(c *column, fit numtext.Fit, fraction Code) *Verdict {
	if fit == numtext.FitFraction {
		return d.refuse(fraction, c, "has more digits after the point than "+c.typ.String()+" holds")
	}
	return d.refuse(OutOfRange, c, "does not fit into "+c.typ.String())
}

func (d *Decoder) appendFloat(c *column, dst *block.Column) *Verdict {
	switch c.kind {
	case kindNumber:
		x, finite := c.number.Float64(d.scan.at(c.node))
		if !finite {
			return d.refuse(OutOfRange, c, "is nearer to infinity than to any float64")
		}
		dst.AppendFloat(x)
		return nil
	case kindString: // the values that JSON has no numbers for
		text, _ := d.scan.chars(c.node, &d.scratch)
		switch string(text) {
		case "NaN":
			dst.AppendFloat(math.NaN())
			return nil
		case "Infinity":
			dst.AppendFloat(math.Inf(1))
			return nil
		case "-Infinity":
			dst.AppendFloat(math.Inf(-1))
			return nil
		}
	}
	return d.wrongType(c)
}

func (d *Decoder) appendString(c *column, dst *block.Column) *Verdict {
	if c.kind != kindString {
		return d.wrongType(c)
	}
	text, ok := d.scan.chars(c.node, &d.scratch)
	if !ok {
		return halfPair(c.name)
	}
	dst.AppendBytes(text)
	return nil
}

func (d *Decoder) appendTimestamp(c *column, dst *block.Column) *Verdict {
	ms, fit := d.timeAt(c.node, Milliseconds)
	switch {
	case fit == numtext.TimeExact:
		dst.AppendInt(int64(ms))
		return nil
	case fit == numtext.TimeOutOfRange:
		return d.refuse(OutOfRange, c, "is outside the years 0001 to 9999")
	case c.kind == kindNumber:
		return d.refuse(NotIntegral, c, "is not a whole number of milliseconds")
	}
	return d.wrongType(c)
}

// appendJSON keeps the value byte for byte.
func (d *Decoder) appendJSON(c *column, dst *block.Column) *Verdict {
	text := d.scan.at(c.node)
	if !wholeSurrogates(text) {
		return halfPair(c.name)
	}
	dst.AppendBytes(text)
	return nil
}
