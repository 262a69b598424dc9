package spec

import (
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as a number or with a unit: `4MiB`.
type Size int64

// sizeUnits from the largest; the order makes String choose the largest that divides.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String returns the size with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if int64(s)%u.bytes == 0 && int64(s) >= u.bytes {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

func parseSize(text string) (Size, bool) {
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return Size(n * u.bytes), err == nil && n >= 0 && n <= math.MaxInt64/u.bytes
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return Size(n), err == nil && n >= 0
}

func (s *Size) decode(d *decoder, at string, n *node) {
	if n.kind != nodeNumber && n.kind != nodeString {
		d.wrongType(at, n, "a size")
		return
	}
	v, ok := parseSize(n.text)
	if !ok {
		d.fault(CodeInvalidValue, at, "for example 4MiB", "%s is not a size", n.describe())
		return
	}
	*s = v
}

func (s Size) encode() *node { return newString(s.String()) }
