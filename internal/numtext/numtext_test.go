package numtext_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/pondage/pondage/internal/numtext"
)

// isNumber asks encoding/json.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && s == strings.TrimSpace(s) && json.Valid([]byte(s))
}

// literal draws texts that are numbers, or nearly.
func literal(t *rapid.T) string {
	digits := rapid.StringOfN(rapid.SampledFrom([]rune("0019")), 0, 24, -1)
	s := rapid.SampledFrom([]string{"", "", "-", "+"}).Draw(t, "sign") + digits.Draw(t, "integer")
	if rapid.Bool().Draw(t, "has point") {
		s += "." + digits.Draw(t, "fraction")
	}
	if rapid.Bool().Draw(t, "has exponent") {
		s += rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + rapid.SampledFrom([]string{"", "+", "-"}).Draw(t, "exponent sign") +
			rapid.StringOfN(rapid.SampledFrom([]rune("0123")), 0, 2, -1).Draw(t, "exponent")
	}
	return s
}

func TestScanTakesWhatJSONTakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := literal(t)
		after := rapid.SampledFrom([]string{"", ",", "}", "          "}).Draw(t, "after")
		_, end, ok := numtext.Scan([]byte("x"+s+after), 1)
		if ok = ok && end == 1+len(s); ok != isNumber(s) {
			t.Fatalf("%q: ok is %v, end %d", s, ok, end)
		}
	})
}

// big arithmetic decides what is exact.
func TestConversionsAgreeWithBigNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := literal(t)
		if !isNumber(s) {
			return
		}
		n, _, ok := numtext.Scan([]byte(s), 0)
		if !ok {
			t.Fatalf("%q is a number", s)
		}
		want, _ := new(big.Rat).SetString(s)
		v, fit := n.Int64([]byte(s))
		checkFit(t, s, fit, want, new(big.Int).Lsh(big.NewInt(1), 63), new(big.Rat).SetInt64(v))

		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		precision := rapid.IntRange(max(scale, 1), 38).Draw(t, "precision")
		num, fit := n.Decimal([]byte(s), uint8(precision), uint8(scale))
		scaled := new(big.Rat).Mul(want, new(big.Rat).SetInt(pow(scale)))
		checkFit(t, s, fit, scaled, pow(precision), new(big.Rat).SetInt(num.BigInt()))

		x, finite := n.Float64([]byte(s))
		nearest, err := strconv.ParseFloat(s, 64)
		if finite != (err == nil) || (finite && math.Float64bits(x) != math.Float64bits(nearest)) {
			t.Fatalf("%q is %v %v, want %v %v", s, x, finite, nearest, err)
		}
	})
}

func pow(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// checkFit compares a conversion with the exact value; limit is the first magnitude that is too large (for int64 the
// negative limit is one further).
func checkFit(t *rapid.T, s string, fit numtext.Fit, want *big.Rat, limit *big.Int, got *big.Rat) {
	expect := numtext.FitExact
	if !want.IsInt() {
		expect = numtext.FitFraction
	} else if abs := new(big.Int).Abs(want.Num()); abs.Cmp(limit) >= 0 {
		expect = numtext.FitOutOfRange
		if isInt64 := limit.BitLen() == 64; isInt64 && abs.Cmp(limit) == 0 && want.Sign() < 0 {
			expect = numtext.FitExact
		}
	}
	if fit != expect || (fit == numtext.FitExact && got.Cmp(want) != 0) {
		t.Fatalf("%q: fit %d, value %s; want fit %d, value %s", s, fit, got, expect, want)
	}
}

func TestNumbersAtTheLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 100000)
	for _, c := range []struct {
		text string
		want int64
		fit  numtext.Fit
	}{
		{"9223372036854775807", math.MaxInt64, numtext.FitExact},
		{"-9223372036854775808", math.MinInt64, numtext.FitExact},
		{"9223372036854775808", 0, numtext.FitOutOfRange},
		{"-9223372036854775809", 0, numtext.FitOutOfRange},
		{"18446744073709551617", 0, numtext.FitOutOfRange}, // 2^64 + 1 wraps to 1
		{"9223372036854775807.000", math.MaxInt64, numtext.FitExact},
		{"922337203685477580700e-2", math.MaxInt64, numtext.FitExact},
		{"0.009223372036854775807e21", math.MaxInt64, numtext.FitExact},
		{"0e999999999999999999999", 0, numtext.FitExact},
		{"-0", 0, numtext.FitExact},
		{"0.0e-99", 0, numtext.FitExact},
		{"1e999999999999999999999", 0, numtext.FitOutOfRange},
		{"1e-999999999999999999999", 0, numtext.FitFraction},
		{"1" + strings.Repeat("0", 50000) + "e-50000", 1, numtext.FitExact},
		{"0." + strings.Repeat("0", 50000) + "7e50001", 7, numtext.FitExact},
		{long, 0, numtext.FitOutOfRange},
		{long + ".5", 0, numtext.FitFraction},
	} {
		n, end, ok := numtext.Scan([]byte(c.text), 0)
		if !ok || end != len(c.text) {
			t.Fatalf("%.40s is a number", c.text)
		}
		if got, fit := n.Int64([]byte(c.text)); got != c.want || fit != c.fit {
			t.Errorf("%.40s = %d, fit %d; want %d, %d", c.text, got, fit, c.want, c.fit)
		}
	}
	for text, finite := range map[string]bool{"1e400": false, "-1e400": false, "1e-400": true, "1.7976931348623157e308": true,
		"1.7976931348623159e308": false, "0." + strings.Repeat("3", 100000): true, long: false} {
		n, _, _ := numtext.Scan([]byte(text), 0)
		if _, ok := n.Float64([]byte(text)); ok != finite {
			t.Errorf("%.40s: finite is %v", text, ok)
		}
	}
	n, _, _ := numtext.Scan([]byte("-0"), 0)
	if x, _ := n.Float64([]byte("-0")); !math.Signbit(x) {
		t.Error("-0 lost its sign")
	}
}

func TestDecimalsAtTheLimits(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 38)
	n, _, _ := numtext.Scan([]byte("-"+nines), 0)
	got, fit := n.Decimal([]byte("-"+nines), 38, 0)
	if want, _ := decimal128.FromString("-"+nines, 38, 0); fit != numtext.FitExact || got != want {
		t.Errorf("%s, fit %d", got.ToString(0), fit)
	}
	if _, fit := n.Decimal([]byte("-"+nines), 38, 1); fit != numtext.FitOutOfRange {
		t.Errorf("39 digits: fit %d", fit)
	}
}

// Go's time package is the model for what is a time.
func TestTimesAgreeWithTheTimePackage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, from, to, width int) string {
			return fmt.Sprintf("%0*d", width, rapid.IntRange(from, to).Draw(t, name))
		}
		s := number("year", 0, 9999, 4) + "-" + number("month", 0, 13, 2) + "-" + number("day", 0, 32, 2) + "T" +
			number("hour", 0, 24, 2) + ":" + number("minute", 0, 60, 2) + ":" + number("second", 0, 60, 2)
		if rapid.Bool().Draw(t, "fraction") {
			s += "." + rapid.StringOfN(rapid.SampledFrom([]rune("0159")), 0, 12, -1).Draw(t, "digits")
		}
		zone := rapid.SampledFrom([]string{"Z", "", "+00:00", "-00:00", "+05:30", "-23:59"}).Draw(t, "zone")
		s += zone
		want, err := time.Parse("2006-01-02T15:04:05Z07:00", s)
		ms, fit := numtext.ParseTime([]byte(s))
		if (err != nil) != (fit == numtext.TimeMalformed) {
			t.Fatalf("%s: fit %d, the model says %v", s, fit, err)
		}
		if err != nil {
			return
		}
		out := want.UTC().Year() < 1 || want.UTC().Year() > 9999
		if out != (fit == numtext.TimeOutOfRange) || (!out && ms != want.UnixMilli()) {
			t.Fatalf("%s = %d, fit %d; want %d", s, ms, fit, want.UnixMilli())
		}
	})
}

func TestTimeTexts(t *testing.T) {
	t.Parallel()
	const bad, far = "malformed", "out of range"
	for text, want := range map[string]string{
		"1970-01-01T00:00:00Z":                       "0",
		"1970-01-01t00:00:00z":                       "0",
		"1969-12-31T23:59:59.9999Z":                  "-1",
		"1969-12-31T23:59:59.000000001Z":             "-1000",
		"2023-11-14T22:13:20.123999999Z":             "1700000000123",
		"2024-02-29T00:00:00Z":                       "1709164800000",
		"0001-01-01T00:00:00Z":                       "-62135596800000",
		"9999-12-31T23:59:59.999999999999999999999Z": "253402300799999",
		"0000-01-01T00:00:00Z":                       far,
		"0000-12-31T23:59:59Z":                       far,
		"0000-12-31T23:00:00-01:00":                  "-62135596800000",
		"0001-01-01T00:00:00+00:01":                  far,
		"9999-12-31T23:59:59-00:01":                  far,
		"2100-02-29T00:00:00Z":                       bad,
		"2023-02-29T00:00:00Z":                       bad,
		"2016-12-31T23:59:60Z":                       bad,
		"2023-11-14T24:00:00Z":                       bad,
		"2023-11-14 22:13:20Z":                       bad,
		"2023-11-14T22:13:20":                        bad,
		"2023-11-14T22:13:20.Z":                      bad,
		"2023-11-14T22:13:20,5Z":                     bad,
		"2023-11-14T22:13:20.5":                      bad,
		"2023-11-14T22:13:20+0100":                   bad,
		"2023-11-14T22:13:20+24:00":                  bad, // the time package takes this one and the next
		"2023-11-14T22:13:20+01:60":                  bad,
		"2023-11-14T22:13:20+01":                     bad,
		"2023-11-14T22:13:20ZZ":                      bad,
		"2023-11-14T22:13Z":                          bad,
		"+2023-1-14T22:13:20Z":                       bad,
		"292277-01-09T04:00:54Z":                     bad,
		"":                                           bad,
		"2023-11-14":                                 bad,
	} {
		ms, fit := numtext.ParseTime([]byte(text))
		got := strconv.FormatInt(ms, 10)
		switch fit {
		case numtext.TimeMalformed:
			got = bad
		case numtext.TimeOutOfRange:
			got = far
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, text := range []string{"33,          ", "16.54,         ", "1767225599149,      "} {
		in := []byte(text)
		b.Run(strings.TrimSpace(text), func(b *testing.B) {
			for b.Loop() {
				numtext.Scan(in, 0)
			}
		})
	}
}

func BenchmarkParseTime(b *testing.B) {
	in := []byte("2023-11-14T23:13:20.250+01:00")
	for b.Loop() {
		numtext.ParseTime(in)
	}
}
