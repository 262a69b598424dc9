package tablehash

import (
	"bytes"
	"crypto/md5" // names, not secrets: collisions are not an attack here, the group id is in every name
	"encoding/hex"
	"errors"
	"fmt"
)

// MaxNameLen is the longest table name, in bytes.
const MaxNameLen = 192

// NamingVersion is the version of the naming rule. It is stored with the stream: an upgrade never renames.
type NamingVersion int

// CurrentNaming is the version that new streams get.
const CurrentNaming NamingVersion = 1

// Naming is how a stream names the subtables of its groups.
type Naming uint8

// The ways to name.
const (
	// NamingAutomatic: `t_` and the MD5 of target and group id. Without SUBTABLE, unless NamingTable fits.
	NamingAutomatic Naming = 1 + iota
	// NamingTable: the source table's name, without SUBTABLE and partitioned by the table name alone.
	NamingTable
	// NamingExpression: the value of SUBTABLE, made unique by a suffix.
	NamingExpression
	// NamingExact: the value of SUBTABLE … EXACT as it is; see Claims.
	NamingExact
)

// The errors of a row whose group cannot be named; only NamingExact and NamingTable have them.
var (
	ErrNoName   = errors.New("the subtable name is null or empty")
	ErrLongName = fmt.Errorf("the subtable name is longer than %d bytes", MaxNameLen)
)

// Namer builds the subtable names of one stream. It is a value.
type Namer struct {
	naming Naming
	target string // the stream's output, part of the names so that two streams into one place do not meet
}

// NewNamer returns the Namer of a stream by the version stored with it; one from a later binary is refused.
func NewNamer(v NamingVersion, n Naming, target string) (Namer, error) {
	if v != CurrentNaming {
		return Namer{}, fmt.Errorf("naming rule %d of target %s: this binary knows %d", v, target, CurrentNaming)
	}
	return Namer{naming: n, target: target}, nil
}

// Append appends the name of a group to dst. value is the table name or the value of SUBTABLE, by the stream's naming,
// nil for null (a SUBTABLE that yields nothing names the group automatically). key is the group's encoding, empty for
// the one group of a stream without PARTITION BY.
func (n Namer) Append(dst, value, key []byte) ([]byte, error) {
	switch n.naming {
	case NamingTable, NamingExact:
		if len(value) == 0 {
			return dst, ErrNoName
		}
		if len(value) > MaxNameLen {
			return dst, fmt.Errorf("%w: it has %d", ErrLongName, len(value))
		}
		return append(dst, value...), nil
	case NamingExpression:
		if len(value) > 0 {
			return n.unique(dst, value, key), nil
		}
	case NamingAutomatic:
	}
	return n.automatic(dst, key), nil
}

func (n Namer) automatic(dst, key []byte) []byte {
	text := append([]byte(n.target), '/')
	text = AppendGroupID(text, GroupID(key))
	return appendMD5(append(dst, "t_"...), text)
}

// unique appends prefix and the suffix that no other group has. What does not fit is replaced by its MD5, the suffix
// first, so that a readable prefix stays as long as it can.
func (n Namer) unique(dst, prefix, key []byte) []byte {
	suffix := n.suffix(prefix, key)
	if len(prefix)+len(suffix) <= MaxNameLen {
		return append(append(dst, prefix...), suffix...)
	}
	if len(suffix) > 0 && len(prefix)+md5Len <= MaxNameLen {
		return appendMD5(append(dst, prefix...), suffix)
	}
	dst = appendMD5(dst, prefix)
	if len(suffix) > 0 {
		dst = appendMD5(dst, suffix)
	}
	return dst
}

// suffix is empty when there is no group, or the name has its id already.
func (n Namer) suffix(prefix, key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	id := AppendGroupID(make([]byte, 0, GroupIDLen), GroupID(key))
	if bytes.HasSuffix(prefix, id) {
		return nil
	}
	out := make([]byte, 0, len(n.target)+GroupIDLen+2)
	out = append(append(out, '_'), n.target...)
	return append(append(out, '_'), id...)
}

const md5Len = 2 * md5.Size // as text

func appendMD5(dst, text []byte) []byte {
	sum := md5.Sum(text)
	return hex.AppendEncode(dst, sum[:])
}
