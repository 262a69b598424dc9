package agg

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// fixed is an exact sum of doubles, or of their squares: a two's complement integer, in units of the smallest number it
// has to hold, wide enough for 2^63 of the largest; and the numbers of values that are not finite.
// It is the slow form of a float sum: for values more than some 100 binary digits apart, sums beyond the range of
// doubles, NaN and infinities.
type fixed struct {
	words         []uint64 // least significant first
	nan, pos, neg int64    // values that were NaN, +Inf, −Inf
}

// span says which numbers a fixed holds.
type span struct {
	unit  int // exponent of two of the least significant bit
	words int
}

var (
	// sumSpan: the smallest double is 2^−1074, the largest is below 2^1024; 63 bits of carry and a sign.
	sumSpan = span{unit: -1074, words: 34}
	// squareSpan: the same, squared.
	squareSpan = span{unit: -2148, words: 67}
)

func (f *fixed) clear(s span) {
	if cap(f.words) < s.words {
		f.words = make([]uint64, s.words)
	}
	f.words = f.words[:s.words]
	clear(f.words)
	f.nan, f.pos, f.neg = 0, 0, 0
}

// split returns x = ±mantissa · 2^exponent. x is finite.
func split(x float64) (mantissa uint64, exponent int, negative bool) {
	const mantissaBits, exponentMask, minExponent = 52, 0x7ff, -1074
	b := math.Float64bits(x)
	mantissa, negative = b&(1<<mantissaBits-1), b>>63 != 0
	e := int(b >> mantissaBits & exponentMask)
	if e == 0 {
		return mantissa, minExponent, negative
	}
	return mantissa | 1<<mantissaBits, e - 1 + minExponent, negative
}

// count counts x beside the sum when it is not finite.
func (f *fixed) count(x float64) bool {
	switch {
	case x != x:
		f.nan++
	case math.IsInf(x, 1):
		f.pos++
	case math.IsInf(x, -1):
		f.neg++
	default:
		return false
	}
	return true
}

// add adds x.
func (f *fixed) add(x float64, s span) {
	if f.count(x) {
		return
	}
	m, e, negative := split(x)
	f.addAt(0, m, e-s.unit, negative)
}

// addSquare adds x·x. x is finite.
func (f *fixed) addSquare(x float64, s span) {
	m, e, _ := split(x)
	hi, lo := bits.Mul64(m, m)
	f.addAt(hi, lo, 2*e-s.unit, false)
}

// addAt adds ±(hi,lo)·2^shift units.
func (f *fixed) addAt(hi, lo uint64, shift int, negative bool) {
	const wordBits = 64
	i, s := shift/wordBits, uint(shift%wordBits)
	w := [3]uint64{lo << s, hi<<s | lo>>(wordBits-s), hi >> (wordBits - s)} // a shift by 64 gives 0
	var carry uint64
	step := bits.Add64
	if negative {
		step = bits.Sub64
	}
	for j := i; j < len(f.words) && (j < i+len(w) || carry != 0); j++ {
		var v uint64
		if j < i+len(w) {
			v = w[j-i]
		}
		f.words[j], carry = step(f.words[j], v, carry)
	}
}

// merge adds o, which has the same span.
func (f *fixed) merge(o *fixed) {
	f.nan, f.pos, f.neg = f.nan+o.nan, f.pos+o.pos, f.neg+o.neg
	var carry uint64
	for i, w := range o.words {
		f.words[i], carry = bits.Add64(f.words[i], w, carry)
	}
}

// special returns the sum when values that are not finite decide it.
func (f *fixed) special() (float64, bool) {
	switch {
	case f.nan > 0 || f.pos > 0 && f.neg > 0:
		return math.NaN(), true
	case f.pos > 0:
		return math.Inf(1), true
	case f.neg > 0:
		return math.Inf(-1), true
	}
	return 0, false
}

// signedInt returns the two's complement number in the words.
func signedInt(words []uint64) *big.Int {
	const wordBytes = 8
	negative := words[len(words)-1]>>63 != 0
	buf := make([]byte, wordBytes*len(words))
	for i, w := range words {
		if negative {
			w = ^w
		}
		for j := range wordBytes {
			buf[len(buf)-1-i*wordBytes-j] = byte(w >> (8 * j))
		}
	}
	v := new(big.Int).SetBytes(buf)
	if negative {
		v.Not(v) // −v−1
	}
	return v
}

// appendFixed appends the text form: the counts of NaN, +Inf and −Inf in decimal, the index of the first word that is
// not zero, and the words from there to the last that is not sign extension, 16 hex digits each, the least significant
// first; joined by dots.
func appendFixed(dst []byte, f *fixed) []byte {
	for _, n := range []int64{f.nan, f.pos, f.neg} {
		dst = append(strconv.AppendInt(dst, n, 10), '.')
	}
	first := 0
	for first < len(f.words)-1 && f.words[first] == 0 {
		first++
	}
	dst = append(strconv.AppendInt(dst, int64(first), 10), '.')
	return appendWords(dst, f.words[first:])
}

// appendWords appends two's complement words as 16 hex digits each, the least significant first, without those that
// only extend the sign.
func appendWords(dst []byte, words []uint64) []byte {
	n := len(words)
	for n > 1 && words[n-1] == uint64(int64(words[n-2])>>63) {
		n--
	}
	for _, w := range words[:n] {
		dst = hex.AppendEncode(dst, []byte{byte(w >> 56), byte(w >> 48), byte(w >> 40), byte(w >> 32), byte(w >> 24), byte(w >> 16), byte(w >> 8), byte(w)})
	}
	return dst
}

// parseWords fills words from the text form of appendWords, extending the sign.
func parseWords(words []uint64, text string) error {
	const digits = 16
	n := len(text) / digits
	if n < 1 || n > len(words) || len(text)%digits != 0 {
		return fmt.Errorf("wide sum %q: want 1 to %d groups of %d hex digits", text, len(words), digits)
	}
	for i := range n {
		w, err := strconv.ParseUint(text[i*digits:(i+1)*digits], 16, 64)
		if err != nil {
			return fmt.Errorf("wide sum: %w", err)
		}
		words[i] = w
	}
	for i := n; i < len(words); i++ {
		words[i] = uint64(int64(words[n-1]) >> 63)
	}
	return nil
}

// parse fills f from its text form.
func (f *fixed) parse(text string, s span) error {
	f.clear(s)
	const parts = 5
	p := strings.SplitN(text, ".", parts)
	if len(p) != parts {
		return fmt.Errorf("wide sum %q: want %d parts", text, parts)
	}
	var n [parts - 1]int64
	for i := range n {
		v, err := strconv.ParseInt(p[i], 10, 64)
		if err != nil || v < 0 {
			return fmt.Errorf("wide sum %q: part %d is no count", text, i)
		}
		n[i] = v
	}
	f.nan, f.pos, f.neg = n[0], n[1], n[2]
	if n[3] >= int64(s.words) {
		return fmt.Errorf("wide sum %q: no word %d", text, n[3])
	}
	return parseWords(f.words[n[3]:], p[parts-1])
}
