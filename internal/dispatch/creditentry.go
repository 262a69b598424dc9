package dispatch

import "github.com/pondage/pondage/internal/ident"

// CreditMessage is the body of POST /v1/edges/credits: what one node tells another, for all tasks of both.
type CreditMessage struct {
	From    ident.Place
	To      ident.NodeID
	Seq     uint64 // per pair of nodes, for CreditPosted
	Entries []CreditEntry
}

// CreditEntry is what a receiving task says to one of its upstreams. It is void for any other stream, stage or place.
type CreditEntry struct {
	Stream   ident.StreamID
	Stage    ident.Stage
	Upstream ident.Task
	Task     ident.Task  // the one that received
	Consumed ident.MsgID // processed, in order
	Notice   NoticeKind
	// Question and Watermark answer the latest question of the upstream for a floor, and all before it; 0: none asked.
	Question  int64
	Watermark ident.EventMs
}

// NoticeKind is what a receiver says beside what it has consumed.
type NoticeKind string

// The notices of DESIGN §5.
const (
	NoticeNone       NoticeKind = ""
	NoticeRefused    NoticeKind = "refused"
	NoticeNoSuchTask NoticeKind = "no_such_task"
	NoticeHeld       NoticeKind = "held" // the upstream's blocks wait for the triggers of others
)

// Channel names one upstream's messages to one task, within a stage.
type Channel struct {
	Stream   ident.StreamID
	Stage    ident.Stage
	Upstream ident.Task
	Task     ident.Task
}

// CreditEvent is what Credits.Step takes.
type CreditEvent interface{ creditEvent() }

// Opened says that a receiver takes messages of the channel, whose sender runs on the node. It is told of at once: to the
// sender it is a sign of life.
type Opened struct {
	Channel Channel
	From    ident.NodeID
}

// Consumed says that messages of the channel up to Msg are processed.
type Consumed struct {
	Channel Channel
	Msg     ident.MsgID
}

// HeldBack and Released say that messages of a channel are held, or no longer.
type HeldBack struct{ Channel Channel }

// Released ends a HeldBack.
type Released struct{ Channel Channel }

// FloorAnswered answers a question of the channel's upstream (Answer of package watermark).
type FloorAnswered struct {
	Channel   Channel
	Question  int64
	Watermark ident.EventMs
}

// Noticed carries a notice about a channel that need not be open (Notice of Receiver). It is void when the stage of the
// receiver that has met the message ends.
type Noticed struct {
	To     ident.NodeID
	Entry  CreditEntry
	Stream ident.StreamID // of the receiver
	Stage  ident.Stage
}

// Closed forgets all channels of the stream up to the stage.
type Closed struct {
	Stream ident.StreamID
	Stage  ident.Stage
}

// CreditTick passes time, every CreditEvery.
type CreditTick struct{ Now ident.MonoMs }

// CreditPosted says what became of a Post.
type CreditPosted struct {
	To  ident.NodeID
	Seq uint64
	Err error // nil: the other node has it
}

func (Opened) creditEvent()        {}
func (Consumed) creditEvent()      {}
func (HeldBack) creditEvent()      {}
func (Released) creditEvent()      {}
func (FloorAnswered) creditEvent() {}
func (Noticed) creditEvent()       {}
func (Closed) creditEvent()        {}
func (CreditTick) creditEvent()    {}
func (CreditPosted) creditEvent()  {}

// Post sends the message to its node, with CreditDeadline; one is under way to a node at a time.
type Post struct{ Message CreditMessage }
