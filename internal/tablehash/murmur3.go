package tablehash

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 is MurmurHash3 x86 32-bit. It is our own because the Go package of that name steps with unsafe pointers past
// the end of its input, which the race detector's pointer checks refuse.
func murmur3(data []byte, seed uint32) uint32 {
	h, length := seed, uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		h ^= murmurBlock(binary.LittleEndian.Uint32(data))
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail uint32
	for i, c := range data {
		tail |= uint32(c) << (8 * i)
	}
	h ^= murmurBlock(tail) // 0 stays 0: nothing happens without a tail
	h ^= length
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

func murmurBlock(k uint32) uint32 {
	return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
}
