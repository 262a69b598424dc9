package dispatch

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
)

// SendEvent is what Sender.Step takes.
type SendEvent interface{ sendEvent() }

// Flush hands over the messages of one flush, in order. Only while the sender takes input (no PauseInput in force).
type Flush struct {
	Messages []Message
	Now      ident.MonoMs
}

// Speak hands over a watermark, idle notice or question for one destination. At any time: it rides on rows that wait.
type Speak struct {
	To        ident.Task
	Watermark ident.EventMs
	Idle      bool
	Related   int64 // the question; 0: none
	Now       ident.MonoMs
}

// Control sends a control message to every destination, behind the open flush and both without credit. Message.To is
// set by the sender.
type Control struct {
	Message Message
	Now     ident.MonoMs
}

// Result is what became of a request.
type Result uint8

// The results of DESIGN §5. Over Kafka only ok and error exist.
const (
	ResultOK      Result = 1 + iota
	ResultError          // not appended, or nobody knows
	ResultBlocked        // local channel: the receiver does not take
	ResultRefused        // this and the following end the stage
	ResultNoSuchTask
	ResultNewStage
)

// Sent answers messages First…Last of a destination: all of a request or a part of it.
type Sent struct {
	To          ident.Task
	Stage       ident.Stage
	First, Last ident.MsgID
	Result      Result
	Now         ident.MonoMs
}

// Credited is what a receiving node says of one of the task's destinations (Entry of a CreditMessage).
type Credited struct {
	From  ident.Place
	Entry CreditEntry
	Now   ident.MonoMs
}

// SenderTick passes time, every MonitorTick.
type SenderTick struct{ Now ident.MonoMs }

// StageOver tells the sender what it did not find out itself: a handshake or the receiver beside it ended the stage.
type StageOver struct{}

func (Flush) sendEvent()      {}
func (Speak) sendEvent()      {}
func (Control) sendEvent()    {}
func (Sent) sendEvent()       {}
func (Credited) sendEvent()   {}
func (SenderTick) sendEvent() {}
func (StageOver) sendEvent()  {}

// SendEffect is what Sender.Step returns; to be obeyed in the order returned.
type SendEffect interface{ sendEffect() }

// Produce appends the messages to the destination's partition as one request. The next one for this destination comes
// only when all of them are answered.
type Produce struct {
	To       ident.Task
	Messages []Numbered
}

// Repeat sends the destination's request First…Last once more, unchanged.
type Repeat struct {
	To          ident.Task
	First, Last ident.MsgID
	Attempt     int // 2 for the first repetition
}

// Delivered says that all messages of a destination up to UpTo are appended. Freed are the bodies of the request, once
// all of it is: until then it may be repeated.
type Delivered struct {
	To    ident.Task
	UpTo  ident.MsgID
	Freed []Handle
}

// PauseInput and ResumeInput: the task takes no input while a flush of it waits for credit, or a destination blocks.
type PauseInput struct{}

// ResumeInput ends a PauseInput.
type ResumeInput struct{}

// SilentPeer says that no credit message has come from the node for CreditSilence; no data goes there until HeardPeer.
// To be reported.
type SilentPeer struct{ Place ident.Place }

// HeardPeer ends a SilentPeer.
type HeardPeer struct{ Place ident.Place }

// FloorAnswer is a destination's answer to a question, from credits that are not void: for the task's watermark core.
// It may come more than once.
type FloorAnswer struct {
	From      ident.Task
	Question  int64
	Watermark ident.EventMs
}

func (FloorAnswer) sendEffect() {}
func (Produce) sendEffect()     {}
func (Repeat) sendEffect()      {}
func (Delivered) sendEffect()   {}
func (PauseInput) sendEffect()  {}
func (ResumeInput) sendEffect() {}
func (SilentPeer) sendEffect()  {}
func (HeardPeer) sendEffect()   {}
func (NeedReset) sendEffect()   {}

// control tells whether a message type goes by the overdraft of Control.
func control(t block.MsgType) bool { return t.Control() && t != block.MsgWatermark }
