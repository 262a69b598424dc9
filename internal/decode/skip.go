package decode

import "github.com/pondage/pondage/internal/numtext"

// skip reads and checks a value that nobody declared. What it nests is on a stack of bits, one a level, so that no
// record can exhaust the machine's stack. depth is the number of levels around the value.
func (s *scanner) skip(at, depth int) int {
	var stack bitStack
	for {
		// A value begins at at.
		switch c := s.byteAt(at); c {
		case '"':
			at, _ = s.string(at)
		case '{', '[':
			if depth+stack.len >= maxDepth {
				return s.fail(TooDeep, at, "the value nests too deep")
			}
			inner := s.space(at + 1)
			if s.byteAt(inner) == closing(c) {
				at = inner + 1
				break
			}
			stack.push(c == '{')
			if c == '{' {
				inner = s.skipKey(inner)
			}
			if at = inner; at == failed {
				return failed
			}
			continue
		case 't', 'f', 'n':
			at = s.literal(at)
		default:
			_, end, ok := numtext.Scan(s.text, at)
			if !ok {
				return s.badNumber(at, end)
			}
			at = end
		}
		if at == failed {
			return failed
		}
		if at = s.skipEnds(at, &stack); at == failed || stack.len == 0 {
			return at
		}
	}
}

// skipEnds reads what follows a value: the ends of objects and arrays, until a comma leads to the next value or nothing
// is left open.
func (s *scanner) skipEnds(at int, stack *bitStack) int {
	for stack.len > 0 {
		at = s.space(at)
		inObject := stack.top()
		switch c := s.byteAt(at); {
		case c == ',':
			if at = s.space(at + 1); inObject {
				at = s.skipKey(at)
			}
			return at
		case c == '}' && inObject, c == ']' && !inObject:
			stack.pop()
			at++
		default:
			return s.malformed(at, "want a comma or the end")
		}
	}
	return at
}

// skipKey reads the name of a member that nobody declared, and its colon.
func (s *scanner) skipKey(at int) int {
	if s.byteAt(at) != '"' {
		return s.malformed(at, "want a member's name in double quotes")
	}
	end, _ := s.string(at)
	if end == failed {
		return failed
	}
	return s.colon(end)
}

func closing(opening byte) byte { return opening + 2 } // '{' → '}', '[' → ']'

// bitStack holds up to maxDepth bits.
type bitStack struct {
	len   int
	words [maxDepth / wordBits]uint64
}

const wordBits = 64

func (b *bitStack) push(set bool) {
	word, bit := &b.words[b.len/wordBits], uint64(1)<<(b.len%wordBits)
	*word &^= bit
	if set {
		*word |= bit
	}
	b.len++
}

func (b *bitStack) pop() { b.len-- }

func (b *bitStack) top() bool {
	return b.words[(b.len-1)/wordBits]>>((b.len-1)%wordBits)&1 != 0
}
