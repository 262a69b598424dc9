package block

// Arrow keeps booleans and null marks as bits, the first row in the lowest bit of the first byte; a set bit in a
// validity bitmap means "not null".

func bitmapBytes(rows int) int { return (rows + 7) / 8 }

// packBits writes one bit a row, each inverted if flip is 0xff; flip is 0 or 0xff. What the bits after the last row are
// does not matter.
func packBits(dst []byte, rows []bool, flip byte) {
	clear(dst)
	for i, set := range rows {
		if set {
			dst[i>>3] |= 1 << (i & 7)
		}
	}
	for i := range dst {
		dst[i] ^= flip
	}
}

// unpackBits appends one bool a row, each inverted if flip is 0xff. bits has at least bitmapBytes(rows) bytes.
func unpackBits(dst []bool, bits []byte, rows int, flip byte) []bool {
	for i := range rows {
		dst = append(dst, (bits[i>>3]^flip)>>(i&7)&1 != 0)
	}
	return dst
}
