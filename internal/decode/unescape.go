package decode

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	unicodeEscapeLen = len(`\u0000`)
	// surrogate range: U+D800 to U+DFFF are halves of a pair, no characters.
	surrogateMin, surrogateMax = 0xd800, 0xdfff
)

// unescape appends the characters of a string's text, which the scanner has checked, to dst. It is not ok if a
// surrogate escape has no other half: there is no such text.
func unescape(dst, text []byte) (out []byte, ok bool) {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...), true
		}
		dst = append(dst, text[:i]...)
		text = text[i:]
		if text[1] != 'u' {
			dst = append(dst, plainEscape(text[1]))
			text = text[2:]
			continue
		}
		r, length := unicodeEscape(text)
		if r == utf8.RuneError && length == 0 {
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
		text = text[length:]
	}
}

// unicodeEscape reads \uXXXX, or two of them that are a pair. The length is 0 if it is half a pair.
func unicodeEscape(text []byte) (r rune, length int) {
	r = hexRune(text)
	if r < surrogateMin || r > surrogateMax {
		return r, unicodeEscapeLen
	}
	rest := text[unicodeEscapeLen:]
	if len(rest) < unicodeEscapeLen || rest[0] != '\\' || rest[1] != 'u' {
		return utf8.RuneError, 0
	}
	if r = utf16.DecodeRune(r, hexRune(rest)); r == utf8.RuneError { // DecodeRune makes no U+FFFD of a pair
		return r, 0
	}
	return r, 2 * unicodeEscapeLen
}

// wholeSurrogates tells whether every surrogate escape in a JSON text has its other half.
func wholeSurrogates(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return true
		}
		text = text[i:]
		if text[1] != 'u' {
			text = text[2:]
			continue
		}
		_, length := unicodeEscape(text)
		if length == 0 {
			return false
		}
		text = text[length:]
	}
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // quote, backslash, slash
}

// hexRune reads the four digits of \uXXXX.
func hexRune(text []byte) rune {
	var r rune
	for _, c := range text[2:unicodeEscapeLen] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

// hexValue returns the value of a hexadecimal digit, or −1.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
