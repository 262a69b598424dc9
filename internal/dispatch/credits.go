package dispatch

import (
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/ident"
)

// Credits is the receiving side's accounting of a whole node: what its tasks have consumed, and whom to tell.
//
// A message holds what has changed since the last one that arrived; every CreditRestate, and after a lost one, it holds
// everything. All values are the latest ones, so that a message may be lost, doubled or overtaken by a later one without harm.
//
// A node that does not take messages is tried ever less often, and what is kept for it ends with the stages that it belongs
// to: of a dead node nothing is left once its streams have gone on without it.
type Credits struct {
	self  ident.Place
	peers map[ident.NodeID]*creditPeer
	where map[Channel]*creditPeer
}

// creditPeer is one node that sends to us.
type creditPeer struct {
	node     ident.NodeID
	channels map[Channel]*creditLine
	notices  []creditNotice
	seq      uint64 // of the last message
	underWay bool
	tried    ident.MonoMs // when that was made
	pause    int64        // how long after it the next one may come, ms: it grows while messages are lost; 0: none was
	restated ident.MonoMs
	all      bool // the next message holds everything
}

// creditNotice is about a channel that is not open; it is kept until a message with it has arrived.
type creditNotice struct {
	Noticed
	in uint64 // the last message that has it; 0: none yet
}

type creditLine struct {
	entry   CreditEntry
	changed bool
}

// NewCredits returns the accounting of the node at the place.
func NewCredits(self ident.Place) *Credits {
	return &Credits{self: self, peers: map[ident.NodeID]*creditPeer{}, where: map[Channel]*creditPeer{}}
}

// Step takes an event in; only a tick has effects.
func (c *Credits) Step(e CreditEvent) []Post {
	switch e := e.(type) {
	case Opened:
		c.open(e)
	case Consumed:
		c.change(e.Channel, func(n *CreditEntry) { n.Consumed = max(n.Consumed, e.Msg) })
	case HeldBack:
		c.change(e.Channel, func(n *CreditEntry) { n.Notice = NoticeHeld })
	case Released:
		c.change(e.Channel, func(n *CreditEntry) { n.Notice = NoticeNone })
	case FloorAnswered:
		c.change(e.Channel, func(n *CreditEntry) {
			n.Question, n.Watermark = max(n.Question, e.Question), max(n.Watermark, e.Watermark)
		})
	case Noticed:
		c.notice(e)
	case Closed:
		c.close(e)
	case CreditPosted:
		c.posted(e)
	case CreditTick:
		return c.tick(e.Now)
	}
	return nil
}

func (c *Credits) peer(n ident.NodeID) *creditPeer {
	p := c.peers[n]
	if p == nil {
		p = &creditPeer{node: n, channels: map[Channel]*creditLine{}}
		c.peers[n] = p
	}
	return p
}

func (c *Credits) open(e Opened) {
	if c.where[e.Channel] != nil {
		return
	}
	p := c.peer(e.From)
	c.where[e.Channel] = p
	p.channels[e.Channel] = &creditLine{changed: true, entry: CreditEntry{
		Stream: e.Channel.Stream, Stage: e.Channel.Stage, Upstream: e.Channel.Upstream, Task: e.Channel.Task,
		Watermark: ident.WatermarkNone,
	}}
}

// change alters an open channel's line; word of a closed one comes late and is of no use any more.
func (c *Credits) change(ch Channel, alter func(*CreditEntry)) {
	p := c.where[ch]
	if p == nil {
		return
	}
	line := p.channels[ch]
	before := line.entry
	alter(&line.entry)
	line.changed = line.changed || line.entry != before
}

// notice keeps one notice a channel: a sender that is told once is told.
func (c *Credits) notice(e Noticed) {
	p := c.peer(e.To)
	if !slices.ContainsFunc(p.notices, func(n creditNotice) bool { return n.Noticed == e }) {
		p.notices = append(p.notices, creditNotice{Noticed: e})
	}
}

func (c *Credits) close(e Closed) {
	for ch, p := range c.where {
		if ch.Stream == e.Stream && ch.Stage <= e.Stage {
			delete(p.channels, ch)
			delete(c.where, ch)
		}
	}
	for _, p := range c.peers {
		p.notices = slices.DeleteFunc(p.notices, func(n creditNotice) bool { return n.Stream == e.Stream && n.Stage <= e.Stage })
	}
}

func (c *Credits) posted(e CreditPosted) {
	p := c.peers[e.To]
	if p == nil || e.Seq != p.seq {
		return
	}
	p.underWay = false
	if e.Err != nil {
		p.all = true
		p.pause = min(max(CreditEvery.Milliseconds(), 2*p.pause), CreditRetryMax.Milliseconds())
		return
	}
	p.pause = 0
	p.notices = slices.DeleteFunc(p.notices, func(n creditNotice) bool { return n.in == e.Seq })
}

// waits tells whether it is too early for the next message. To a sender of an open channel it is a sign of life.
func (p *creditPeer) waits(now ident.MonoMs) bool {
	pause := p.pause
	if len(p.channels) > 0 {
		pause = min(pause, CreditRestate.Milliseconds())
	}
	return p.underWay || int64(now-p.tried) < pause
}

// tick makes the messages that are due, in the order of the nodes' names.
func (c *Credits) tick(now ident.MonoMs) []Post {
	var posts []Post
	for n, p := range c.peers {
		if p.waits(now) {
			continue
		}
		if len(p.channels) == 0 && len(p.notices) == 0 {
			delete(c.peers, n)
			continue
		}
		if int64(now-p.restated) >= CreditRestate.Milliseconds() || p.restated == 0 {
			p.all = true
		}
		if entries := p.take(now); len(entries) > 0 {
			p.seq++
			p.underWay, p.tried = true, now
			posts = append(posts, Post{Message: CreditMessage{From: c.self, To: n, Seq: p.seq, Entries: entries}})
		}
	}
	slices.SortFunc(posts, func(a, b Post) int { return strings.Compare(string(a.Message.To), string(b.Message.To)) })
	return posts
}

// take returns the lines of the next message, those that have changed or all of them, and the notices.
func (p *creditPeer) take(now ident.MonoMs) []CreditEntry {
	var entries []CreditEntry
	for i := range p.notices {
		p.notices[i].in = p.seq + 1
		entries = append(entries, p.notices[i].Entry)
	}
	lines := make([]CreditEntry, 0, len(p.channels))
	for _, line := range p.channels {
		if line.changed || p.all {
			lines = append(lines, line.entry)
			line.changed = false
		}
	}
	if p.all {
		p.all, p.restated = false, now
	}
	slices.SortFunc(lines, compareEntries)
	return append(entries, lines...)
}

func compareEntries(a, b CreditEntry) int {
	if a.Stream != b.Stream {
		return int(a.Stream - b.Stream)
	}
	if a.Stage != b.Stage {
		return int(a.Stage - b.Stage)
	}
	if d := a.Upstream.Compare(b.Upstream); d != 0 {
		return d
	}
	return a.Task.Compare(b.Task)
}
