package dispatch

import (
	"fmt"

	"github.com/pondage/pondage/internal/ident"
)

// Self says whose core this is: a task of a stream in a stage, at its place.
type Self struct {
	Stream ident.StreamID
	Stage  ident.Stage
	Task   ident.Task
	Place  ident.Place
}

// Peer is a task at the other end of an edge, where the placement of the stage puts it.
type Peer struct {
	Task  ident.Task
	Place ident.Place
}

// Reason says why this stage of the stream is over for a task, or a call was answered so.
type Reason string

// The reasons of a needed reset.
const (
	ReasonRefused    Reason = "refused"
	ReasonNoSuchTask Reason = "no_such_task"
	ReasonNewStage   Reason = "new_stage"
	ReasonGap        Reason = "gap"
	ReasonVersion    Reason = "unsupported_version"
	ReasonCorrupt    Reason = "corrupt_block" // found by the shell: the cores never see the bytes
)

// NeedReset (Sender, Receiver, Handshake): this stage of the stream is over. The task stops, reports it at once and in
// every heartbeat, and takes part in no further checkpoint of the stage. It is the last effect of a core. It acts only
// while the stream's stage is Stage.
type NeedReset struct {
	Stage  ident.Stage
	Peer   Peer
	Reason Reason
	Detail string // for people
}

func (r NeedReset) String() string {
	return fmt.Sprintf("reset of stage %d needed: %s by %s at %s %s", r.Stage, r.Reason, r.Peer.Task, r.Peer.Place, r.Detail)
}
