package block

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The metadata of Arrow messages is in FlatBuffers. This file reads what we need of them; every access is checked.

// errFlat: an offset in the metadata leads out of it.
var errFlat = errors.New("metadata points outside itself")

// flat is the metadata of one message. The first access out of bounds sets bad and yields zeros from then on: callers
// read on and ask once at the end.
type flat struct {
	buf []byte
	bad bool
}

// bytes returns n bytes at the position, or zeros.
func (f *flat) bytes(at, n int) []byte {
	if at < 0 || n < 0 || at > len(f.buf)-n {
		f.bad = true
		return make([]byte, min(max(n, 0), longLen))
	}
	return f.buf[at : at+n]
}

func (f *flat) short(at int) int  { return int(binary.LittleEndian.Uint16(f.bytes(at, shortLen))) }
func (f *flat) int(at int) int    { return int(int32(binary.LittleEndian.Uint32(f.bytes(at, intLen)))) }
func (f *flat) long(at int) int64 { return int64(binary.LittleEndian.Uint64(f.bytes(at, longLen))) }
func (f *flat) byte(at int) byte  { return f.bytes(at, byteLen)[0] }

// follow returns where the offset at the position leads. Offsets only lead forward, so nothing can loop.
func (f *flat) follow(at int) int {
	return at + int(binary.LittleEndian.Uint32(f.bytes(at, intLen)))
}

// err tells whether any access so far was out of bounds.
func (f *flat) err() error {
	if f.bad {
		return errFlat
	}
	return nil
}

// field returns the position of a table's field, and false when the table leaves it out.
func (f *flat) field(table, slot int) (int, bool) {
	vtable := table - f.int(table)
	entry := intLen + shortLen*slot // after the sizes of vtable and table
	if entry+shortLen > f.short(vtable) {
		return 0, false
	}
	offset := f.short(vtable + entry)
	return table + offset, offset != 0 && !f.bad
}

// vector is a list in the metadata whose elements are inline structs or offsets.
type vector struct{ at, len, size int }

// vector returns the vector in a field; one that is left out is empty.
func (f *flat) vector(table, slot, size int) (vector, error) {
	at, ok := f.field(table, slot)
	if !ok {
		return vector{}, f.err()
	}
	at = f.follow(at)
	n := f.int(at)
	v := vector{at: at + intLen, len: n, size: size}
	if f.bad || n < 0 || n > (len(f.buf)-v.at)/size {
		return vector{}, fmt.Errorf("a list of %d elements: %w", n, errFlat)
	}
	return v, nil
}

// next returns the position of the next element.
func (v *vector) next(f *flat) (int, error) {
	if v.len == 0 {
		return 0, errors.New("the metadata lists too few")
	}
	at := v.at
	v.at, v.len = v.at+v.size, v.len-1
	return at, f.err()
}

// text returns the string in a field, or "".
func (f *flat) text(table, slot int) string {
	at, ok := f.field(table, slot)
	if !ok {
		return ""
	}
	at = f.follow(at)
	return string(f.bytes(at+intLen, f.int(at)))
}
