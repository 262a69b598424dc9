package tablehash

import (
	"fmt"
	"math"

	"github.com/pondage/pondage/internal/ident"
)

// seed starts the table hash. It can never change.
const seed = 0x12345678

// MaxAffix is the largest number of bytes that a prefix or suffix rule may name.
const MaxAffix = 191

// Sum is the hash of a table's full name, given as UTF-8: MurmurHash3 x86 32-bit.
func Sum(name []byte) uint32 { return murmur3(name, seed) }

// Affix chooses the part of a table name that is hashed, in bytes. Positive numbers ignore that much of the beginning
// (Prefix) and end (Suffix) of the name, negative ones hash nothing but that. The zero value hashes the whole name.
type Affix struct{ Prefix, Suffix int }

// Validate refuses numbers out of −MaxAffix … MaxAffix, and a mix of signs.
func (a Affix) Validate() error {
	for _, n := range []int{a.Prefix, a.Suffix} {
		if n < -MaxAffix || n > MaxAffix {
			return fmt.Errorf("hash prefix or suffix %d: want %d to %d", n, -MaxAffix, MaxAffix)
		}
	}
	if a.Prefix < 0 != (a.Suffix < 0) && a.Prefix != 0 && a.Suffix != 0 {
		return fmt.Errorf("hash prefix %d and suffix %d: want equal signs", a.Prefix, a.Suffix)
	}
	return nil
}

// Sum is the hash of the part of the name that a chooses; of the whole name when a does not leave or take less than
// that. a is valid.
func (a Affix) Sum(name []byte) uint32 {
	total := a.Prefix + a.Suffix
	if total == 0 || len(name) <= total || len(name) <= -total {
		return Sum(name)
	}
	if total > 0 {
		return Sum(name[a.Prefix : len(name)-a.Suffix])
	}
	part := make([]byte, 0, 2*MaxAffix)
	part = append(part, name[:-a.Prefix]...)
	part = append(part, name[len(name)+a.Suffix:]...)
	return Sum(part)
}

// step is the width of all ranges but the last, which takes what is left over.
func step(vgroups int) uint32 { return uint32(uint64(math.MaxUint32) / uint64(vgroups)) }

// VGroupOf returns the vgroup of vgroups that owns the hash; vgroups is at least 1. The ranges are uniform, so the
// index is computed.
func VGroupOf(hash uint32, vgroups int) ident.VGroup {
	return ident.VGroup(min(hash/step(vgroups), uint32(vgroups-1)))
}

// Range returns the hashes that a vgroup of vgroups owns, both ends inclusive.
func Range(vg ident.VGroup, vgroups int) (lo, hi uint32) {
	lo = uint32(vg) * step(vgroups)
	if int(vg) == vgroups-1 {
		return lo, math.MaxUint32
	}
	return lo, lo + step(vgroups) - 1
}
