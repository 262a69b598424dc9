// Package dispatch is the exchange of messages between tasks: numbers, answers, credit, the receiver's rules, the
// handshake before a stage begins, and the node's memory (DESIGN §5). All of it is pure: the worker's shells own the
// Kafka client, HTTP, timers and goroutines, and step these cores.
//
//	Router     to which destination rows go (fixed, shuffle, vtable map)
//	Sender     one task and edge: ids, one request a destination in flight, repetition, credit, the open flush
//	Receiver   one task: the five rules, holding of closed inputs
//	Credits    one node: what its tasks have consumed, told to each sending node
//	Handshake  one stream and receiving node: the asking side of check-downstream
//	Readiness  one node: the answering side
//	Budget     one node: the memory pool
//
// It owns: msg ids within a stage, what is unanswered and unconsumed, which inputs are closed, what is void. It does not
// own: bodies (a Handle is all it sees), wire forms (package block), stages (the metastore), watermarks (package
// watermark, whose Say becomes a Speak here), what happens between AllIn and OpenInputs (package align).
//
// # Invariants
//
// Message ids of a destination are given in order, once, and never given up. At most one request a destination is in
// flight, and it is repeated unchanged: the log may hold a message twice, but message n is never behind its first
// appearance missing n−1, so a receiver that sees a gap has really lost something. Only a contiguous prefix is delivered.
// A message has a number only when it has credit, but for control messages and the one open flush ahead of them. A
// held message is never reordered; a skipped one changes nothing. After NeedReset a core does nothing any more.
//
// # Order of effects
//
// Effects are obeyed in the order returned, each before the next and before the next event of the same core.
//
// Sender: HeardPeer before what its credit lets through; Delivered before the Produce it makes room for; PauseInput and
// ResumeInput last, so that the task reads on only when everything before is under way. NeedReset is the last effect ever.
//
// Receiver: AlignmentFailed, InputsOpen, then what was held (Enqueue, Hold or Drop, in order of arrival), then Seek, then
// AlignmentBegan and the Enqueue of the trigger that caused it. EndStage before AskOrders. Drop gives the body back.
//
// # A sender's loop
//
//	flush := <-task                               // only while s.Taking()
//	obey(s.Step(dispatch.Flush{Messages: flush, Now: now()}))
//	say := <-watermark                            // Say of package watermark
//	obey(s.Step(dispatch.Speak{To: say.To, Watermark: say.Watermark, Idle: say.Idle, Related: int64(say.Question), Now: now()}))
//	r := <-producer                               // Produce: push; Repeat: queue.Retry
//	obey(s.Step(dispatch.Sent{To: d, Stage: stage, First: id, Last: id, Result: dispatch.ResultOK, Now: now()}))
//	m := <-http                                   // each entry of POST /v1/edges/credits
//	obey(s.Step(dispatch.Credited{From: m.From, Entry: e, Now: now()}))
//	<-ticker                                      // MonitorTick
//	obey(s.Step(dispatch.SenderTick{Now: now()}))
//
// # A receiver's loop
//
//	obey(r.Step(dispatch.Arrived{Header: h, Body: body, Bytes: n, Offset: off}))
//	m := queue.next()                             // filled by Enqueue
//	merge rows; watermark.Heard; then obey(r.Step(dispatch.Done{Header: m.Header}))
//	credits.Step(dispatch.Consumed{Channel: ch, Msg: m.Header.Msg})
//
// Decisions: a watermark without rows needs credit like rows and waits as one word that a newer one replaces; a word that
// meets rows in the open flush rides on the last of them, its question too (header rt); consumption does not count as an
// answer; credits carry the latest values, everything once a second, so that no acknowledgement of entries is needed; an
// answer to a floor question answers all earlier ones of its channel; a trigger that closes nothing is enqueued all the
// same, so that it counts as consumed in its place.
//
// Start reading at Sender.Step and Receiver.Step. Scripts: testdata/.
package dispatch
