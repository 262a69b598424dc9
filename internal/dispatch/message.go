package dispatch

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// Handle names a body that the shell keeps; the cores never look into one.
type Handle uint64

// Message is one message for a destination, before it has a number.
type Message struct {
	To         ident.Task
	Type       block.MsgType
	Body       Handle
	Bytes      int // of the body, as it will be sent
	Watermark  ident.EventMs
	Idle       bool
	Related    int64 // the question of a watermark; history or recalculation id of other types
	Checkpoint ident.CheckpointID
	Tx         ident.TxID
}

// Numbered is a message with its number. From then on nothing of it changes.
type Numbered struct {
	Message
	ID ident.MsgID
}
