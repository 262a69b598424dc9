package dispatch

import "time"

// The numbers of DESIGN §5, each once.
const (
	// MonitorTick is how often a sender looks for entries to resend, and so how often its shell ticks.
	MonitorTick = 300 * time.Millisecond
	// UnansweredAfter is when a request without an answer is sent again. A produce has a deadline of its own
	// (ProduceDeadline): this is for answers that were lost inside the process.
	UnansweredAfter = 30 * time.Second
	// ProduceDeadline is for one produce or dial; then fresh metadata and the same request.
	ProduceDeadline = 5 * time.Second
	// RetryBackoff is the wait before the first repetition of a failed request; it doubles up to RetryBackoffMax.
	RetryBackoff = MonitorTick
	// RetryBackoffMax keeps a destination that is back from waiting longer than a produce may take.
	RetryBackoffMax = 5 * time.Second

	// MaxBatch is the default of dispatch.max_batch, in bytes: what of one destination may be unanswered, and one produce
	// request. The shell lowers it to half of the topic's max.message.bytes (DESIGN §4).
	MaxBatch = 4 << 20
	// CreditBytes and CreditBlocks are what a destination may have unconsumed.
	CreditBytes  = 16 << 20
	CreditBlocks = 256
	// CreditEvery is how often a node tells another what it has consumed, if anything has changed.
	CreditEvery = 100 * time.Millisecond
	// CreditRestate is how often it tells everything, changed or not: repairs a lost message and is the sign of life that
	// CreditSilence waits for, five times over.
	CreditRestate = time.Second
	// CreditDeadline is for one POST of credits: two lost ones in a row still leave the peer heard within CreditSilence.
	CreditDeadline = 2 * time.Second
	// CreditRetryMax is how often a node that does not answer is still told of what its messages met, when nothing of this
	// node waits for its messages.
	CreditRetryMax = 5 * time.Second
	// CreditSilence is after how long without a word from a node no more data goes to it.
	CreditSilence = 5 * time.Second

	// HandshakePoll is how long a check-downstream call may wait for its answer, and how long an unknown stream or task is
	// `not_ready` before it is `no_such_task`.
	HandshakePoll = 10 * time.Second
	// HandshakeDeadline is when a call without an answer is a silent round: the poll and a produce's worth of network.
	HandshakeDeadline = HandshakePoll + ProduceDeadline
	// HandshakePause is the wait before a call is made again: a peer that refuses connections is not flooded.
	HandshakePause = time.Second
	// HandshakeRounds is how many silent rounds put a peer on the node-update list.
	HandshakeRounds = 3

	// HeldBytes is how much of closed inputs a task holds back during alignment (DESIGN §7); what exceeds it is skipped and
	// read again.
	HeldBytes = 64 << 20

	// TaskItems and TaskBytes cap one task's part of the node's memory pool.
	TaskItems = 20_480
	TaskBytes = 30 << 20
	// ResumePercent of the pool is where paused sources go on: low enough that a pause is worth its cost.
	ResumePercent = 75
)
