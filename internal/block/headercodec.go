package block

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// The errors of reading a block. Both mean that nothing of the block may be used.
var (
	// ErrCorrupt: the bytes are not what a peer of a wire version that we know writes. The stream is reset, the block
	// is never skipped (DESIGN §4).
	ErrCorrupt = errors.New("corrupt block")
	// ErrVersion: the block has a wire version that this binary does not read. It holds and asks for a reset.
	ErrVersion = errors.New("unknown wire version")
)

// oldestReadable is the lowest wire version that this binary reads: the one before its own, if there was one.
const oldestReadable = max(1, WireVersion-1)

// Widths of the binary header values; numbers are big-endian.
const (
	byteLen  = 1
	shortLen = 2
	intLen   = 4
	longLen  = 8
	taskLen  = byteLen + shortLen // level, vgroup
)

// RecordHeader is one Kafka record header.
type RecordHeader struct {
	Key   string
	Value []byte
}

// HeaderEncoder turns headers into Kafka record headers. The zero value is ready; one goroutine at a time.
type HeaderEncoder struct {
	headers []RecordHeader
}

// Encode returns the record headers of h, in a fixed order. Fields that say nothing (no checkpoint, not idle, not
// traced) are left out. The list is valid until the next call; the values are not reused and may be kept.
func (e *HeaderEncoder) Encode(h *Header) []RecordHeader {
	const numbers = 128 // all fixed-width values together, with room to spare
	w := headerWriter{
		headers: e.headers[:0],
		buf:     make([]byte, 0, numbers+len(h.UpNode)+len(h.Down.Node)+len(h.TraceParent)+len(h.TraceState)),
	}
	w.number(HeaderVersion, byteLen, uint64(h.Version))
	w.number(HeaderStream, longLen, uint64(h.Stream))
	w.number(HeaderStage, longLen, uint64(h.Stage))
	w.number(HeaderMsg, longLen, uint64(h.Msg))
	w.number(HeaderUpstream, taskLen, taskBits(h.Upstream))
	w.text(HeaderUpNode, string(h.UpNode))
	w.number(HeaderDownstream, taskLen, taskBits(h.Downstream))
	w.text(HeaderDown, h.Down.String())
	w.number(HeaderType, byteLen, uint64(h.Type))
	w.number(HeaderWatermark, longLen, uint64(h.Watermark))
	w.optional(HeaderCheckpoint, uint64(h.Checkpoint))
	w.optional(HeaderTx, uint64(h.Tx))
	w.optional(HeaderRelated, uint64(h.Related))
	if h.Idle {
		w.number(HeaderIdle, byteLen, 1)
	}
	w.number(HeaderCRC, intLen, uint64(h.CRC))
	if h.TraceParent != "" {
		w.text(HeaderTraceParent, h.TraceParent)
	}
	if h.TraceState != "" {
		w.text(HeaderTraceState, h.TraceState)
	}
	e.headers = w.headers
	return w.headers
}

// taskBits is the level in one byte before the vgroup in two.
func taskBits(t ident.Task) uint64 { return uint64(t.Level)<<16 | uint64(t.VGroup) }

// headerWriter lays all values of a header into one slice.
type headerWriter struct {
	headers []RecordHeader
	buf     []byte
}

func (w *headerWriter) number(key string, width int, v uint64) {
	at := len(w.buf)
	for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
		w.buf = append(w.buf, byte(v>>shift))
	}
	w.add(key, at)
}

func (w *headerWriter) optional(key string, v uint64) {
	if v != 0 {
		w.number(key, longLen, v)
	}
}

func (w *headerWriter) text(key, v string) {
	at := len(w.buf)
	w.buf = append(w.buf, v...)
	w.add(key, at)
}

func (w *headerWriter) add(key string, at int) {
	w.headers = append(w.headers, RecordHeader{Key: key, Value: w.buf[at:len(w.buf):len(w.buf)]})
}

// ParseHeader reads the record headers of a block. Headers with names that are not ours are ignored (tracing agents add
// some); one of ours that is missing, double or malformed is ErrCorrupt. A version that is not read here is ErrVersion,
// whatever else is in the header.
func ParseHeader(headers []RecordHeader) (Header, error) {
	var h Header
	if err := parseVersion(&h, headers); err != nil {
		return h, err
	}
	var seen headerSet
	for i := range headers {
		bit, err := h.set(&headers[i])
		if err == nil && bit&seen != 0 {
			err = errors.New("it occurs twice")
		}
		if err != nil {
			return h, fmt.Errorf("%w: header %q = %x: %w", ErrCorrupt, headers[i].Key, headers[i].Value, err)
		}
		seen |= bit
	}
	if missing := requiredHeaders &^ seen; missing != 0 {
		return h, fmt.Errorf("%w: header %q is missing", ErrCorrupt, missing.first())
	}
	return h, nil
}

// parseVersion finds the version first: in another version everything else may look different.
func parseVersion(h *Header, headers []RecordHeader) error {
	for i := range headers {
		if headers[i].Key != HeaderVersion {
			continue
		}
		if len(headers[i].Value) != byteLen {
			return fmt.Errorf("%w: header %q has %d bytes", ErrCorrupt, HeaderVersion, len(headers[i].Value))
		}
		if v := headers[i].Value[0]; v < oldestReadable || v > WireVersion {
			return fmt.Errorf("%w %d: this binary reads %d to %d", ErrVersion, v, oldestReadable, WireVersion)
		}
		h.Version = headers[i].Value[0]
		return nil
	}
	return fmt.Errorf("%w: header %q is missing", ErrCorrupt, HeaderVersion)
}

// headerSet is a set of header names, one bit each.
type headerSet uint32

const (
	hasVersion headerSet = 1 << iota
	hasStream
	hasStage
	hasMsg
	hasUpstream
	hasUpNode
	hasDownstream
	hasDown
	hasType
	hasWatermark
	hasCRC
	hasCheckpoint
	hasTx
	hasRelated
	hasIdle
	hasTraceParent
	hasTraceState
)

// requiredHeaders are those up to the CRC; the rest says something only when it is there.
const requiredHeaders = hasCRC<<1 - 1

var requiredNames = []string{HeaderVersion, HeaderStream, HeaderStage, HeaderMsg, HeaderUpstream, HeaderUpNode,
	HeaderDownstream, HeaderDown, HeaderType, HeaderWatermark, HeaderCRC}

func (s headerSet) first() string {
	for i, name := range requiredNames {
		if s&(1<<i) != 0 {
			return name
		}
	}
	return ""
}

// set takes one header into h and returns its bit, 0 for a foreign one.
func (h *Header) set(r *RecordHeader) (headerSet, error) {
	v := r.Value
	switch r.Key {
	case HeaderVersion:
		return hasVersion, nil
	case HeaderStream:
		return hasStream, setLong(&h.Stream, v)
	case HeaderStage:
		return hasStage, setLong(&h.Stage, v)
	case HeaderMsg:
		return hasMsg, setLong(&h.Msg, v)
	case HeaderUpstream:
		return hasUpstream, setTask(&h.Upstream, v)
	case HeaderUpNode:
		h.UpNode = ident.NodeID(v)
		return hasUpNode, notEmpty(v)
	case HeaderDownstream:
		return hasDownstream, setTask(&h.Downstream, v)
	case HeaderDown:
		var err error
		h.Down, err = ident.ParsePlace(string(v))
		return hasDown, err
	case HeaderType:
		return hasType, h.setType(v)
	case HeaderWatermark:
		return hasWatermark, setLong(&h.Watermark, v)
	case HeaderCheckpoint:
		return hasCheckpoint, setLong(&h.Checkpoint, v)
	case HeaderTx:
		return hasTx, setLong(&h.Tx, v)
	case HeaderRelated:
		return hasRelated, setLong(&h.Related, v)
	case HeaderIdle:
		h.Idle = true
		return hasIdle, wantIdle(v)
	case HeaderCRC:
		if len(v) != intLen {
			return hasCRC, wantBytes(intLen)
		}
		h.CRC = binary.BigEndian.Uint32(v)
		return hasCRC, nil
	case HeaderTraceParent:
		h.TraceParent = string(v)
		return hasTraceParent, nil
	case HeaderTraceState:
		h.TraceState = string(v)
		return hasTraceState, nil
	}
	return 0, nil
}

func (h *Header) setType(v []byte) error {
	if len(v) != byteLen {
		return wantBytes(byteLen)
	}
	h.Type = MsgType(v[0])
	if h.Type < MsgData || h.Type > MsgRetrieve {
		return errors.New("no such message type")
	}
	return nil
}

func setLong[T ~int64 | ~uint64](dst *T, v []byte) error {
	if len(v) != longLen {
		return wantBytes(longLen)
	}
	*dst = T(binary.BigEndian.Uint64(v))
	return nil
}

func setTask(dst *ident.Task, v []byte) error {
	if len(v) != taskLen {
		return wantBytes(taskLen)
	}
	*dst = ident.Task{Level: ident.Level(v[0]), VGroup: ident.VGroup(binary.BigEndian.Uint16(v[1:]))}
	if dst.Level < ident.LevelSource || dst.Level > ident.LevelJoin {
		return errors.New("no such task level")
	}
	return nil
}

func wantIdle(v []byte) error {
	if len(v) != byteLen || v[0] != 1 {
		return errors.New("want the byte 1")
	}
	return nil
}

func notEmpty(v []byte) error {
	if len(v) == 0 {
		return errors.New("it is empty")
	}
	return nil
}

func wantBytes(n int) error { return fmt.Errorf("want %d bytes", n) }
