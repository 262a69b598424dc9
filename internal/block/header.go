package block

import (
	"github.com/pondage/pondage/internal/ident"
)

// WireVersion is the version this binary writes; it reads WireVersion and the one before (DESIGN §4).
const WireVersion = 1

// MsgType is the type of a block (header ty). The numbers are on the wire: never reuse one.
type MsgType uint8

// The message types of DESIGN §4.
const (
	MsgData MsgType = 1 + iota
	MsgCheckpointTrigger
	MsgWatermark
	MsgTransState
	MsgRecalculate
	MsgDeleteResult
	MsgRetrieve
)

// Control tells whether the message goes to every destination task of an edge.
func (t MsgType) Control() bool { return t != MsgData && t != MsgRetrieve }

// Header is what travels with a block.
type Header struct {
	Version    uint8
	Stream     ident.StreamID
	Stage      ident.Stage
	Msg        ident.MsgID
	Upstream   ident.Task
	UpNode     ident.NodeID
	Downstream ident.Task
	Down       ident.Place
	Type       MsgType
	Watermark  ident.EventMs
	Checkpoint ident.CheckpointID // 0: none
	Tx         ident.TxID         // 0: none
	Related    int64              // history or recalculation id; 0: none
	Idle       bool               // the upstream task says that it is idle (DESIGN §6)
	CRC        uint32             // CRC-32C of the value
	// TraceParent and TraceState carry the W3C trace context of a sampled block; empty otherwise.
	TraceParent, TraceState string
}

// Names of the Kafka record headers; short because they repeat in every record.
const (
	HeaderVersion     = "v"
	HeaderStream      = "sid"
	HeaderStage       = "st"
	HeaderMsg         = "mid"
	HeaderUpstream    = "ut"
	HeaderUpNode      = "un"
	HeaderDownstream  = "dt"
	HeaderDown        = "dn"
	HeaderType        = "ty"
	HeaderWatermark   = "wm"
	HeaderCheckpoint  = "cp"
	HeaderTx          = "tx"
	HeaderRelated     = "rt"
	HeaderIdle        = "idle"
	HeaderCRC         = "crc"
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)
