package agg

// pool keeps what does not fit the words of a cell. A handle is 1 + the index, so that 0 is none. Items are used again
// with the memory they hold.
type pool[T any] struct {
	items []*T
	free  []uint32
}

// take returns an item and its handle. The item may hold what it held before.
func (p *pool[T]) take() (uint32, *T) {
	if n := len(p.free); n > 0 {
		h := p.free[n-1]
		p.free = p.free[:n-1]
		return h, p.items[h-1]
	}
	item := new(T)
	p.items = append(p.items, item)
	return uint32(len(p.items)), item
}

func (p *pool[T]) get(handle uint32) *T { return p.items[handle-1] }

func (p *pool[T]) put(handle uint32) { p.free = append(p.free, handle) }

// reset frees all items.
func (p *pool[T]) reset() {
	p.free = p.free[:0]
	for i := range p.items {
		p.free = append(p.free, uint32(i+1))
	}
}

// text is a byte string kept for a cell.
type text struct{ bytes []byte }
