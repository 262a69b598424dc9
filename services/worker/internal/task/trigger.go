package task

import (
	"context"
	"encoding/binary"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// A trigger's value is the time left for its checkpoint: ms, 8 bytes, big-endian. Who receives it counts from its arrival.
const leftBytes = 8

func appendLeft(value []byte, left ident.MonoMs) []byte {
	return binary.BigEndian.AppendUint64(value, uint64(max(left, 0)))
}

// leftOf reads a trigger's value; ok is false when it is none.
func leftOf(value []byte) (left ident.MonoMs, ok bool) {
	if len(value) != leftBytes {
		return 0, false
	}
	left = ident.MonoMs(binary.BigEndian.Uint64(value))
	return left, left >= 0
}

// forward sends a trigger to every destination, behind what waits there for credit.
func (e *edge) forward(ctx context.Context, f align.Forward, now ident.MonoMs) error {
	value := appendLeft(nil, f.Deadline-now)
	e.last++
	e.bodies[e.last] = &outgoing{body: &value, bytes: len(value), to: len(e.targets)}
	e.memory.Take(int64(len(value)))
	m := dispatch.Message{Type: block.MsgCheckpointTrigger, Body: e.last, Bytes: len(value), Checkpoint: f.Checkpoint, Tx: f.Tx}
	if err := e.step(ctx, dispatch.Control{Message: m, Now: now}); err != nil {
		return err
	}
	e.triggers = map[ident.Task]align.Position{}
	for _, d := range e.sender.Entries() {
		e.triggers[d.Peer.Task] = align.Position{Msg: d.Sent, Offset: align.NoOffset} // the last number given is the trigger's
	}
	return failpoint.Hit(failpoint.CheckpointForwarded)
}

// appended notes where the newest trigger lies.
func (e *edge) appended(a answer) {
	if at, ok := e.triggers[a.To]; ok && a.Result == dispatch.ResultOK && a.First == at.Msg {
		at.Offset = a.offset
		e.triggers[a.To] = at
	}
}
