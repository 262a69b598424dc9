package expr

import "unicode/utf8"

// likeLoop is x LIKE pattern: % is any characters, _ one, the escape character takes the meaning from the next.
// A pattern that ends in the escape character is an error of the row.
func likeLoop(escape rune, not bool) loop {
	return each(func(c *call, i int32) fault {
		matched, ok := like(c.args[0].bytes(i), c.args[1].bytes(i), escape)
		if !ok {
			return faultArgument
		}
		c.out.col.Bool[i] = matched != not
		return faultNone
	})
}

// like matches by going back to the last % when a character does not fit: at most len(text)·len(pattern) steps, no
// memory. ok is false for a pattern that ends in the escape character.
func like(text, pattern []byte, escape rune) (matched, ok bool) {
	if !endsWell(pattern, escape) {
		return false, false
	}
	t, p := 0, 0
	starText, starPattern := -1, -1
	for t < len(text) || p < len(pattern) {
		if p < len(pattern) {
			item, width, _ := nextItem(pattern[p:], escape)
			if item == anyText {
				p += width
				starText, starPattern = t, p
				continue
			}
			if r, size := utf8.DecodeRune(text[t:]); t < len(text) && (item == anyOne || item == r) {
				t += size
				p += width
				continue
			}
		}
		if starText < 0 || starText >= len(text) {
			return false, true
		}
		_, size := utf8.DecodeRune(text[starText:])
		starText += size
		t, p = starText, starPattern
	}
	return true, true
}

// endsWell tells whether the escape character always has something to escape. It is asked before anything is matched, so
// that a bad pattern is an error for every text.
func endsWell(pattern []byte, escape rune) bool {
	for p := 0; p < len(pattern); {
		_, width, ok := nextItem(pattern[p:], escape)
		if !ok {
			return false
		}
		p += width
	}
	return true
}

// The pattern items that are no character.
const (
	anyText rune = -1 - iota
	anyOne
)

// nextItem reads one item of a pattern and its width in bytes.
func nextItem(pattern []byte, escape rune) (item rune, width int, ok bool) {
	r, width := utf8.DecodeRune(pattern)
	switch r {
	case escape:
		if width == len(pattern) {
			return 0, width, false
		}
		escaped, size := utf8.DecodeRune(pattern[width:])
		return escaped, width + size, true
	case '%':
		return anyText, width, true
	case '_':
		return anyOne, width, true
	}
	return r, width, true
}
