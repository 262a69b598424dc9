package kafka

import (
	"math/bits"
	"sync"
)

// buffers lends memory for record batches, in sizes of powers of two.
type buffers struct {
	pools [maxBufferBits - minBufferBits + 1]sync.Pool // of *[]byte
}

const (
	minBufferBits = 12 // 4 KiB
	maxBufferBits = 24 // 16 MiB; larger ones are not kept
)

// lentBuffers is shared by all fetchers and producers of the process: what is read and what is written take turns in the
// same memory.
var lentBuffers buffers

func bufferClass(n int) int { return max(0, bits.Len(uint(max(n, 1)-1))-minBufferBits) }

// get returns n bytes. The capacity is what the budget is charged with.
func (p *buffers) get(n int) *[]byte {
	class := bufferClass(n)
	if class >= len(p.pools) {
		b := make([]byte, n)
		return &b
	}
	if b, ok := p.pools[class].Get().(*[]byte); ok {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, 1<<(class+minBufferBits))
	return &b
}

// put takes the memory back.
func (p *buffers) put(b *[]byte) {
	if class := bufferClass(cap(*b)); class < len(p.pools) && cap(*b) == 1<<(class+minBufferBits) {
		p.pools[class].Put(b)
	}
}
