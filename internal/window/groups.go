package window

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/tablehash"
)

// groups is the table of groups: it numbers keys and keeps a T for each. Numbers of removed groups are used again.
//
// It is an open-addressing hash table (linear probing) of 8-byte entries, the upper half a part of the key's hash, the
// lower half 1 + the number of the group, beside an arena with the keys' bytes. A key is identified by its bytes, never
// by its hash: by the canonical encoding (tablehash.AppendKey), or, when the only key column is text, by the text.
type groups[T any] struct {
	cols    []block.Type
	text    bool // the only key column is a string or json
	seed    uint64
	entries []uint64
	list    []group[T]
	free    []uint32
	live    int
	null    uint32 // 1 + the group whose text is null; 0: none
	arena   []byte
	garbage int // bytes of the arena that belong to no group
	fresh   T   // what a new group starts with

	key []byte // scratch: the encoding of one row
	// Scratch of resolveText, by row of a chunk.
	hashes  [resolveChunk]uint64
	offsets [resolveChunk]int
}

// resolveChunk is how many rows resolveText takes through its steps together: their scratch stays in the L1 cache.
const resolveChunk = 256

// group is a group's place in the table, and its T. With the T's of this package it has 64 bytes: one cache line.
type group[T any] struct {
	hash   uint64
	offset int // of the key in the arena
	length int32
	state  T
}

const (
	minEntries = 64
	entryHalf  = 32 // bits of each half of an entry
	entryMask  = 1<<entryHalf - 1
)

func newGroups[T any](keys block.Schema, seed uint64, fresh T) *groups[T] {
	g := &groups[T]{seed: seed, fresh: fresh}
	for _, k := range keys {
		g.cols = append(g.cols, k.Type)
	}
	g.text = len(keys) == 1 && (keys[0].Type.Kind == block.KindString || keys[0].Type.Kind == block.KindJSON)
	g.clear()
	return g
}

// clear removes all groups.
func (g *groups[T]) clear() {
	if len(g.entries) == 0 {
		g.entries = make([]uint64, minEntries)
	}
	clear(g.entries)
	g.list, g.free, g.arena = g.list[:0], g.free[:0], g.arena[:0]
	g.live, g.null, g.garbage = 0, 0, 0
}

// resolve writes the number of the group of row sel[i] to out[i]. It calls entered for each new group, with the row that
// brought it.
func (g *groups[T]) resolve(out []uint32, cols []*block.Column, sel []int32, entered func(group uint32, row int)) {
	if !g.text {
		for i, r := range sel {
			g.key = tablehash.AppendKey(g.key[:0], cols, int(r))
			out[i] = g.find(hashBytes(g.key, g.seed), g.key, int(r), entered)
		}
		return
	}
	for len(sel) > 0 {
		n := min(len(sel), resolveChunk)
		g.resolveText(out[:n], cols[0], sel[:n], entered)
		out, sel = out[n:], sel[n:]
	}
}

// resolveText is resolve for a text key. It goes over the rows once to hash, once to look up and once to compare: with
// many groups each of the last two waits for memory, and in a short loop the processor waits for many rows at once.
func (g *groups[T]) resolveText(out []uint32, col *block.Column, sel []int32, entered func(group uint32, row int)) {
	for i, r := range sel {
		g.hashes[i] = hashBytes(col.Data[col.Off[r]:col.Off[r+1]], g.seed)
	}
	mask := uint64(len(g.entries) - 1)
	for i := range sel {
		h := g.hashes[i]
		out[i] = noGroup
		if e := g.entries[h&mask]; e != 0 && e>>entryHalf == h>>entryHalf {
			out[i] = uint32(e) - 1
			g.offsets[i] = g.list[out[i]].offset
		}
	}
	for i, r := range sel {
		key := col.Data[col.Off[r]:col.Off[r+1]]
		n := out[i]
		switch {
		case col.IsNull(int(r)):
			out[i] = g.findNull(int(r), entered)
		case n == noGroup || !g.hasKey(n, g.offsets[i], key):
			out[i] = g.find(g.hashes[i], key, int(r), entered)
		}
	}
}

// noGroup is no group's number.
const noGroup = math.MaxUint32

// hasKey tells whether the key of the group, which lies at the offset, is key.
func (g *groups[T]) hasKey(n uint32, offset int, key []byte) bool {
	return int(g.list[n].length) == len(key) && string(g.arena[offset:offset+len(key)]) == string(key)
}

// find returns the group of the key, new or not.
func (g *groups[T]) find(hash uint64, key []byte, row int, entered func(uint32, int)) uint32 {
	mask := uint64(len(g.entries) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := g.entries[i]
		if e == 0 {
			n := g.insert(hash, key)
			entered(n, row)
			return n
		}
		if e>>entryHalf == hash>>entryHalf {
			n := uint32(e) - 1
			if g.hasKey(n, g.list[n].offset, key) {
				return n
			}
		}
	}
}

func (g *groups[T]) findNull(row int, entered func(uint32, int)) uint32 {
	if g.null == 0 {
		n := g.add(group[T]{length: nullKey})
		g.null = n + 1
		entered(n, row)
	}
	return g.null - 1
}

// nullKey is the length of the key whose text is null; it is not in the hash table.
const nullKey = -1

// insert enters a group that is not in the table.
func (g *groups[T]) insert(hash uint64, key []byte) uint32 {
	if g.live >= len(g.entries)/2 {
		g.rehash(2 * len(g.entries))
	}
	n := g.add(group[T]{hash: hash, offset: len(g.arena), length: int32(len(key))})
	g.arena = append(g.arena, key...)
	g.link(n)
	return n
}

func (g *groups[T]) add(at group[T]) uint32 {
	at.state = g.fresh
	g.live++
	if k := len(g.free); k > 0 {
		n := g.free[k-1]
		g.free = g.free[:k-1]
		g.list[n] = at
		return n
	}
	g.list = append(g.list, at)
	return uint32(len(g.list) - 1)
}

// link enters the group into the hash table.
func (g *groups[T]) link(n uint32) {
	mask := uint64(len(g.entries) - 1)
	i := g.list[n].hash & mask
	for g.entries[i] != 0 {
		i = (i + 1) & mask
	}
	g.entries[i] = g.list[n].hash&^entryMask | uint64(n+1)
}

func (g *groups[T]) rehash(size int) {
	old := g.entries
	g.entries = make([]uint64, size)
	for _, e := range old {
		if e != 0 {
			g.link(uint32(e) - 1)
		}
	}
}

// remove removes a group.
func (g *groups[T]) remove(n uint32) {
	at := &g.list[n]
	g.free = append(g.free, n)
	g.live--
	if at.length == nullKey {
		g.null = 0
		return
	}
	g.unlink(n)
	g.garbage += int(at.length)
	at.length = 0
	const smallArena = 64 << 10 // bytes: not worth compacting
	if g.garbage > smallArena && g.garbage > len(g.arena)/2 {
		g.compact()
	}
}

// unlink takes the group out of the hash table and moves up the entries behind it, so that no probe ends too early.
func (g *groups[T]) unlink(n uint32) {
	mask := uint64(len(g.entries) - 1)
	hole := g.list[n].hash & mask
	for uint32(g.entries[hole]) != n+1 {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; g.entries[i] != 0; i = (i + 1) & mask {
		home := g.list[uint32(g.entries[i])-1].hash & mask
		if (i-home)&mask >= (i-hole)&mask { // its probe passes the hole
			g.entries[hole] = g.entries[i]
			hole = i
		}
	}
	g.entries[hole] = 0
}

// compact moves the keys into a new arena without garbage. Removed groups have length 0 and move nothing.
func (g *groups[T]) compact() {
	arena := make([]byte, 0, len(g.arena)-g.garbage)
	for i := range g.list {
		at := &g.list[i]
		if at.length <= 0 {
			continue
		}
		key := g.arena[at.offset : at.offset+int(at.length)]
		at.offset = len(arena)
		arena = append(arena, key...)
	}
	g.arena, g.garbage = arena, 0
	for i := range g.list { // an empty key has no bytes to move, but its offset must lie in the arena
		if g.list[i].length == 0 {
			g.list[i].offset = 0
		}
	}
}

// appendKeys appends the key of the group to the columns.
func (g *groups[T]) appendKeys(cols []*block.Column, n uint32) {
	at := &g.list[n]
	switch {
	case at.length == nullKey:
		cols[0].AppendNull()
	case g.text:
		cols[0].AppendBytes(g.arena[at.offset : at.offset+int(at.length)])
	default:
		if err := tablehash.DecodeKey(g.arena[at.offset:at.offset+int(at.length)], cols); err != nil {
			panic("window: " + err.Error()) // the table encoded it itself
		}
	}
}

// keyBytes is about the memory that the key takes in columns.
func (g *groups[T]) keyBytes(n uint32) int { return max(int(g.list[n].length), 0) }

// memBytes is the memory held, used or not.
func (g *groups[T]) memBytes() int {
	const entryBytes, placeBytes, numberBytes = 8, 64, 4
	return entryBytes*cap(g.entries) + placeBytes*cap(g.list) + numberBytes*cap(g.free) + cap(g.arena)
}

// hashBytes is a fast 64-bit hash: 8 bytes a step, each mixed by a 128-bit product. It never leaves the process.
func hashBytes(b []byte, seed uint64) uint64 {
	// Odd numbers with evenly spread bits (digits of the golden ratio and of √2).
	const golden, root = 0x9e3779b97f4a7c15, 0xb504f333f9de6485
	const word, half = 8, 4
	h := seed ^ uint64(len(b))*root
	for len(b) >= word {
		h = mix(h^binary.LittleEndian.Uint64(b), golden)
		b = b[word:]
	}
	var tail uint64
	switch n := len(b); {
	case n >= half:
		tail = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-half:]))<<entryHalf
	case n > 0:
		tail = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return mix(h^tail^golden, root)
}

// mix folds the 128-bit product.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
