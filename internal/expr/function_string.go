package expr

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// textRow computes a string from the arguments of one row by appending it to dst.
type textRow func(c *call, dst []byte, i int32) ([]byte, fault)

func stringFunctions() []function {
	str, num, boolean := block.String, block.Int64, block.Bool
	text := func(signature, doc string, row textRow, least int, params ...block.Type) function {
		return plain(signature, doc, str, eachText(row), least, params...)
	}
	return []function{
		text("lower(string) → string", "in lower case", mapRunes(unicode.ToLower), 1, str),
		text("upper(string) → string", "in upper case", mapRunes(unicode.ToUpper), 1, str),
		plain("length(string) → int64", "the number of characters", num, each(lengthRow), 1, str),
		plain("octet_length(string) → int64", "the number of bytes in UTF-8", num, each(octetLengthRow), 1, str),
		text("substr(string, int64[, int64]) → string", "the characters from a position (the first is 1), at most that many", substrRow, 2, str, num, num),
		text("substring(string, int64[, int64]) → string", "the same as substr", substrRow, 2, str, num, num),
		text("left(string, int64) → string", "the first n characters; all but the last −n when n is negative", leftRow, 2, str, num),
		text("right(string, int64) → string", "the last n characters; all but the first −n when n is negative", rightRow, 2, str, num),
		text("trim(string[, string]) → string", "without the characters of the second argument (default: space) at both ends", trimRow(bytes.Trim), 1, str, str),
		text("ltrim(string[, string]) → string", "the same at the left end", trimRow(bytes.TrimLeft), 1, str, str),
		text("rtrim(string[, string]) → string", "the same at the right end", trimRow(bytes.TrimRight), 1, str, str),
		text("replace(string, string, string) → string", "with every occurrence of the second argument replaced by the third", replaceRow, 3, str, str, str),
		text("split_part(string, string, int64) → string", "the n-th part between the separators; from the end when n is negative; '' beyond", splitPartRow, 3, str, str, num),
		text("md5(string) → string", "the MD5 of the bytes in hexadecimal", md5Row, 1, str),
		plain("starts_with(string, string) → bool", "whether the first begins with the second", boolean, each(testBytes(bytes.HasPrefix)), 2, str, str),
		plain("ends_with(string, string) → bool", "whether the first ends with the second", boolean, each(testBytes(bytes.HasSuffix)), 2, str, str),
		plain("contains(string, string) → bool", "whether the second occurs in the first", boolean, each(testBytes(bytes.Contains)), 2, str, str),
		plain("strpos(string, string) → int64", "the position of the first occurrence, in characters from 1; 0 if there is none", num, each(strposRow), 2, str, str),
		{Function: Function{Signature: "concat(any, …) → string", Doc: "the arguments as strings, one after the other; nulls are left out"}, least: 1, most: many, check: checkConcat},
	}
}

// concatOperator types l || r: null if one is null. One side at least must be a string; the other is cast to one.
func (c *checker) concatOperator(e *sql.Binary, l, r *node) *node {
	if l.isDuration() || r.isDuration() || l.typ.Kind != block.KindString && r.typ.Kind != block.KindString {
		return c.fail(e, CodeTypeClash, "cast one side: CAST(… AS string)", "%s || %s is not defined", typeName(l), typeName(r))
	}
	l, r = c.castTo(l.src, l, block.String), c.castTo(r.src, r, block.String)
	if l == nil || r == nil {
		return nil
	}
	return strict(e, block.String, eachText(func(c *call, dst []byte, i int32) ([]byte, fault) {
		dst = append(dst, c.args[0].bytes(i)...)
		return append(dst, c.args[1].bytes(i)...), faultNone
	}), l, r)
}

// checkConcat types concat, in which null counts as "".
func checkConcat(c *checker, e *sql.Call, args []*node) *node {
	for i, a := range args {
		if a.isDuration() {
			return c.untyped(a)
		}
		text := c.castTo(a.src, a, block.String)
		if text == nil {
			return nil
		}
		args[i] = lazy(a.src, block.String, func(kernels []kernel) kernel {
			return &coalesceKernel{typ: block.String, args: kernels, values: make([]vec, len(kernels))}
		}, text, constant(a.src, textColumn("")))
	}
	return strict(e, block.String, eachText(func(c *call, dst []byte, i int32) ([]byte, fault) {
		for _, a := range c.args {
			dst = append(dst, a.bytes(i)...)
		}
		return dst, faultNone
	}), args...)
}

// mapRunes maps every character; ASCII, the usual case, needs no decoding.
func mapRunes(f func(rune) rune) textRow {
	return func(c *call, dst []byte, i int32) ([]byte, fault) {
		for text := c.args[0].bytes(i); len(text) > 0; {
			r, size := rune(text[0]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(text)
			}
			dst = utf8.AppendRune(dst, f(r))
			text = text[size:]
		}
		return dst, faultNone
	}
}

func lengthRow(c *call, i int32) fault {
	c.out.col.Int[i] = int64(utf8.RuneCount(c.args[0].bytes(i)))
	return faultNone
}

func octetLengthRow(c *call, i int32) fault {
	c.out.col.Int[i] = int64(len(c.args[0].bytes(i)))
	return faultNone
}

// intArg is the value of an int64 argument.
func (c *call) intArg(n int, i int32) int64 { return c.args[n].col.Int[i&c.args[n].mask] }

// substrRow follows the standard: positions before 1 count, but hold no characters. A negative length is an error.
func substrRow(c *call, dst []byte, i int32) ([]byte, fault) {
	text := c.args[0].bytes(i)
	count := int64(utf8.RuneCount(text))
	from := c.intArg(1, i)
	to := count + 1 // exclusive
	if len(c.args) > 2 {
		n := c.intArg(2, i)
		if n < 0 {
			return dst, faultArgument
		}
		if sum := from + n; sum >= from { // else it wrapped: there is no end
			to = min(to, sum)
		}
	}
	from = max(from, 1)
	if to <= from {
		return dst, faultNone
	}
	return append(dst, runes(text, from-1, to-1)...), faultNone
}

// runes returns the characters [from, to) of text; 0 <= from <= to <= its length in characters.
func runes(text []byte, from, to int64) []byte {
	start := runeOffset(text, from)
	return text[start : start+runeOffset(text[start:], to-from)]
}

// runeOffset is where the n-th character begins.
func runeOffset(text []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

func leftRow(c *call, dst []byte, i int32) ([]byte, fault) {
	text := c.args[0].bytes(i)
	return append(dst, runes(text, 0, firstCount(text, c.intArg(1, i)))...), faultNone
}

func rightRow(c *call, dst []byte, i int32) ([]byte, fault) {
	text := c.args[0].bytes(i)
	count := int64(utf8.RuneCount(text))
	return append(dst, runes(text, count-firstCount(text, c.intArg(1, i)), count)...), faultNone
}

// firstCount is n, or for a negative n the number of characters without −n, within 0 and the number of characters.
func firstCount(text []byte, n int64) int64 {
	count := int64(utf8.RuneCount(text))
	if n < 0 {
		n = max(n, -count) + count
	}
	return min(n, count)
}

func trimRow(trim func([]byte, string) []byte) textRow {
	return func(c *call, dst []byte, i int32) ([]byte, fault) {
		cutset := " "
		if len(c.args) > 1 {
			cutset = stringOf(c.args[1].bytes(i)) // package bytes wants a string, and does not keep it
		}
		if cutset == "" {
			return append(dst, c.args[0].bytes(i)...), faultNone
		}
		return append(dst, trim(c.args[0].bytes(i), cutset)...), faultNone
	}
}

// stringOf views bytes as a string without a copy. The string must not outlive the call that it is made for.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// replaceRow checks the length before it writes: a long replacement of a short string could fill the memory.
func replaceRow(c *call, dst []byte, i int32) ([]byte, fault) {
	text, old, replacement := c.args[0].bytes(i), c.args[1].bytes(i), c.args[2].bytes(i)
	if len(old) == 0 {
		return append(dst, text...), faultNone
	}
	if len(text)+bytes.Count(text, old)*(len(replacement)-len(old)) > MaxStringBytes {
		return dst, faultTooLong
	}
	for {
		at := bytes.Index(text, old)
		if at < 0 {
			return append(dst, text...), faultNone
		}
		dst = append(append(dst, text[:at]...), replacement...)
		text = text[at+len(old):]
	}
}

func splitPartRow(c *call, dst []byte, i int32) ([]byte, fault) {
	text, separator, n := c.args[0].bytes(i), c.args[1].bytes(i), c.intArg(2, i)
	if n == 0 {
		return dst, faultArgument
	}
	parts := int64(1)
	if len(separator) > 0 {
		parts += int64(bytes.Count(text, separator))
	}
	if n < 0 {
		n += parts + 1
	}
	if n < 1 || n > parts {
		return dst, faultNone
	}
	for ; n > 1; n-- {
		text = text[bytes.Index(text, separator)+len(separator):]
	}
	if at := bytes.Index(text, separator); at >= 0 && len(separator) > 0 {
		text = text[:at]
	}
	return append(dst, text...), faultNone
}

func md5Row(c *call, dst []byte, i int32) ([]byte, fault) {
	sum := md5.Sum(c.args[0].bytes(i))
	return hex.AppendEncode(dst, sum[:]), faultNone
}

func testBytes(test func(a, b []byte) bool) func(c *call, i int32) fault {
	return func(c *call, i int32) fault {
		c.out.col.Bool[i] = test(c.args[0].bytes(i), c.args[1].bytes(i))
		return faultNone
	}
}

func strposRow(c *call, i int32) fault {
	text := c.args[0].bytes(i)
	at := bytes.Index(text, c.args[1].bytes(i))
	c.out.col.Int[i] = 0
	if at >= 0 {
		c.out.col.Int[i] = int64(utf8.RuneCount(text[:at])) + 1
	}
	return faultNone
}
