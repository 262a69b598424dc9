package ingest

import "encoding/binary"

// murmur2 is the hash of Kafka's default partitioner (32-bit MurmurHash2 with its seed), so that a key lies in the same
// partition whoever writes it.
func murmur2(data []byte) uint32 {
	const (
		seed     = 0x9747b28c
		multiply = 0x5bd1e995
		rotate   = 24
	)
	h := uint32(seed) ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * multiply
		k ^= k >> rotate
		h = h*multiply ^ k*multiply
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(data[0])) * multiply
	}
	h ^= h >> 13
	h *= multiply
	return h ^ h>>15
}

// partitionOf is the partition of a key among n, as Kafka's default partitioner has it: the hash without its sign.
func partitionOf(key []byte, n int) int { return int(murmur2(key)&0x7fffffff) % n }
