package decode

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/numtext"
)

// member is what a sample has at one path.
type member struct {
	path     Path
	count    int // values that are not null
	kinds    [kindArray + 1]int
	times    int // strings that are RFC 3339
	integral int // numbers that fit int64
	wide     int // integral numbers beyond int64 that fit decimal(38,0)
	least    int64
	most     int64
	longest  int             // of the strings, in bytes
	distinct map[string]bool // of the strings, up to maxDistinct
}

// maxDistinct bounds what is kept of a sample's strings.
const maxDistinct = 10000

// addRecord takes one record of the sample.
func (in *inferrer) addRecord(line []byte) {
	line = bytes.TrimPrefix(line, byteOrderMark)
	in.records++
	switch {
	case !utf8.Valid(line) || !json.Valid(line):
		in.malformed = append(in.malformed, in.records)
	case !in.addObject(line, nil):
		in.others = append(in.others, in.records)
	}
}

// addObject takes the members of an object; false if the text, which is valid JSON, is none.
func (in *inferrer) addObject(text []byte, at Path) bool {
	names, values, ok := objectMembers(text)
	if !ok {
		return false
	}
	for i, name := range names {
		path := append(at[:len(at):len(at)], Step{Name: name})
		if len(path) <= maxPathSteps {
			in.addValue(values[i], path)
		}
	}
	return true
}

// objectMembers returns an object's members in their order.
func objectMembers(text []byte) (names []string, values []json.RawMessage, ok bool) {
	var ordered orderedObject
	if json.Unmarshal(text, &ordered) != nil || !ordered.isObject {
		return nil, nil, false
	}
	return ordered.names, ordered.values, true
}

func (in *inferrer) addValue(text []byte, path Path) {
	key := path.String()
	m := in.byPath[key]
	if m == nil {
		m = &member{path: path, distinct: make(map[string]bool), least: math.MaxInt64, most: math.MinInt64}
		in.byPath[key] = m
		in.members = append(in.members, m)
	}
	m.add(text)
	if text[0] == '{' {
		in.addObject(text, path)
	}
}

func (m *member) add(text []byte) {
	k := kindOf(text[0])
	m.kinds[k]++
	if k == kindNull {
		return
	}
	m.count++
	switch k {
	case kindNumber:
		m.addNumber(text)
	case kindString:
		var s string
		if json.Unmarshal(text, &s) == nil {
			m.addString(s)
		}
	}
}

func kindOf(c byte) kind {
	switch c {
	case '"':
		return kindString
	case '{':
		return kindObject
	case '[':
		return kindArray
	case 't', 'f':
		return kindBool
	case 'n':
		return kindNull
	}
	return kindNumber
}

func (m *member) addNumber(text []byte) {
	n, _, _ := numtext.Scan(text, 0)
	if v, fit := n.Int64(text); fit == numtext.FitExact {
		m.integral++
		m.least, m.most = min(m.least, v), max(m.most, v)
		return
	}
	if _, fit := n.Decimal(text, block.MaxDecimalPrecision, 0); fit == numtext.FitExact {
		m.wide++
	}
}

func (m *member) addString(s string) {
	m.longest = max(m.longest, len(s))
	if _, fit := numtext.ParseTime([]byte(s)); fit == numtext.TimeExact {
		m.times++
	}
	if len(m.distinct) < maxDistinct {
		m.distinct[s] = true
	}
}

// isTime tells whether the values are RFC 3339 times.
func (m *member) isTime() bool { return m.count > 0 && most(m.times, m.count) }

// The years in which an epoch number is taken for a time: before, it is some other count.
const (
	earliestGuess = 946684800  // 2000-01-01, in seconds
	latestGuess   = 4102444800 // 2100-01-01
)

// unitsPerSecond are the units that an epoch number may be in; the years above overlap in none of them.
var unitsPerSecond = []struct {
	unit Unit
	per  int64
}{{Seconds, 1}, {Milliseconds, 1e3}, {Microseconds, 1e6}, {Nanoseconds, 1e9}}

// isEpoch tells whether the values are integers that lie between 2000 and 2100 in one unit.
func (m *member) isEpoch() bool {
	_, ok := m.epochUnit()
	return ok
}

func (m *member) epochUnit() (Unit, bool) {
	if m.count == 0 || !most(m.integral, m.count) {
		return Milliseconds, false
	}
	for _, u := range unitsPerSecond {
		if m.least/u.per >= earliestGuess && m.most/u.per < latestGuess {
			return u.unit, true
		}
	}
	return Milliseconds, false
}

// unit is the unit of an event time.
func (m *member) unit() Unit {
	u, _ := m.epochUnit()
	return u
}

func (m *member) onlyObjects() bool { return m.count > 0 && m.kinds[kindObject] == m.count }

// columnType is the narrowest type that holds all values; json holds any mixture.
func (m *member) columnType() block.Type {
	numbers := m.kinds[kindNumber]
	switch m.count {
	case m.kinds[kindBool]:
		return block.Bool
	case m.integral:
		return block.Int64
	case m.integral + m.wide:
		return block.Decimal(block.MaxDecimalPrecision, 0)
	case numbers:
		return block.Float64
	case m.times:
		return block.Timestamp
	case m.kinds[kindString]:
		return block.String
	}
	return block.JSON
}

// note says what is remarkable about a column; empty for most.
func (m *member) note() string {
	kinds := 0
	for _, n := range m.kinds[kindBool:] {
		if n > 0 {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return "its values are of several JSON types, so it is json"
	case m.kinds[kindArray] > 0:
		return "arrays are kept as json"
	case m.kinds[kindNumber] > 0 && m.integral > 0 && m.columnType() == block.Float64:
		return "integers and fractions, so it is float64"
	case m.wide > 0 && m.columnType() != block.Float64:
		return "some integers are beyond 64 bits, so it is decimal(38,0)"
	}
	return ""
}
