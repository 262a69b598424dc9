package spec

import (
	"maps"
	"slices"
	"strconv"

	"github.com/pondage/pondage/internal/ident"
)

// PositionKind says how a place in a source topic is given.
type PositionKind string

// The kinds of positions.
const (
	AtEarliest PositionKind = "earliest"
	AtLatest   PositionKind = "latest"
	AtTime     PositionKind = "time"    // the first record at or after a time, by the broker's timestamps
	AtOffsets  PositionKind = "offsets" // per partition
)

// Position is a place in a source topic: `earliest`, `latest`, `{time: …}` or `{offsets: {partition: offset}}`. The
// zero value is an absent one.
type Position struct {
	Kind    PositionKind
	Time    Instant
	Offsets map[ident.Partition]ident.NextOffset
}

// Start is where a stream begins to read.
type Start struct{ Position }

// Until is where a bounded stream ends: the offsets are the first ones that are not read. It is never earliest.
type Until struct{ Position }

func (s *Start) decode(d *decoder, at string, n *node) {
	s.Position.read(d, at, n, AtEarliest, AtLatest)
}

func (u *Until) decode(d *decoder, at string, n *node) { u.Position.read(d, at, n, AtLatest) }

func (p *Position) read(d *decoder, at string, n *node, words ...PositionKind) {
	switch n.kind {
	case nodeString:
		if !slices.Contains(words, PositionKind(n.text)) {
			d.fault(CodeInvalidValue, at, "one of "+oneOf(words)+", {time: …}, {offsets: {…}}", "unknown position %q", n.text)
			return
		}
		p.Kind = PositionKind(n.text)
	case nodeObject:
		p.readObject(d, at, n)
	default:
		d.wrongType(at, n, oneOf(words)+", {time: …} or {offsets: {…}}")
	}
}

func (p *Position) readObject(d *decoder, at string, n *node) {
	if len(n.members) != 1 {
		d.fault(CodeInvalidValue, at, "give time or offsets", "a position has one member, found %d", len(n.members))
		return
	}
	m := n.members[0]
	below := at + "/" + escapePointer(m.name)
	switch PositionKind(m.name) {
	case AtTime:
		p.Kind = AtTime
		p.Time.decode(d, below, m.value)
	case AtOffsets:
		p.Kind = AtOffsets
		p.readOffsets(d, below, m.value)
	default:
		d.unknown(at, m.name, []string{string(AtTime), string(AtOffsets)})
	}
}

func (p *Position) readOffsets(d *decoder, at string, n *node) {
	if n.kind != nodeObject || len(n.members) == 0 {
		d.wrongType(at, n, "an object from partition to offset")
		return
	}
	p.Offsets = map[ident.Partition]ident.NextOffset{}
	for _, m := range n.members {
		below := at + "/" + escapePointer(m.name)
		partition, err := strconv.ParseUint(m.name, 10, 31)
		if err != nil {
			d.fault(CodeInvalidValue, below, "", "%q is not the number of a partition", m.name)
			continue
		}
		offset, ok := d.integer(below, m.value)
		if ok && offset < 0 {
			d.fault(CodeInvalidValue, below, "", "an offset is not negative, found %d", offset)
			continue
		}
		p.Offsets[ident.Partition(partition)] = ident.NextOffset(offset)
	}
}

func (p Position) encode() *node {
	out := newObject()
	switch p.Kind {
	case AtTime:
		out.set(string(AtTime), p.Time.encode())
	case AtOffsets:
		offsets := newObject()
		for _, partition := range slices.Sorted(maps.Keys(p.Offsets)) {
			// A 64-bit integer is a string in JSON (DESIGN §12).
			offsets.set(strconv.Itoa(int(partition)), newString(strconv.FormatInt(int64(p.Offsets[partition]), 10)))
		}
		out.set(string(AtOffsets), offsets)
	default:
		return newString(string(p.Kind))
	}
	return out
}
