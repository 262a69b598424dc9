package exchange

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/watermark"
)

// Peers reaches the other nodes.
type Peers interface {
	Credits(ctx context.Context, address string, m dispatch.CreditMessage) error
	Check(ctx context.Context, address string, c dispatch.Check) (dispatch.CheckAnswer, error)
}

// sender names one of the node's sending tasks.
type sender struct {
	stream ident.StreamID
	stage  ident.Stage
	task   ident.Task
}

// Exchange is the node's end of all edges. Make it with New.
type Exchange struct {
	place   ident.Place
	peers   Peers
	started time.Time
	// askOrders makes the node ask the coordinator for its orders at once.
	askOrders func()

	mu        sync.Mutex
	credits   *dispatch.Credits
	readiness *dispatch.Readiness
	senders   map[sender]func(dispatch.Credited)
	located   map[ident.NodeID]*located
	calls     map[dispatch.CallID]chan dispatch.CheckAnswer
	lastCall  dispatch.CallID
}

// New returns the exchange of the node at the place.
func New(place ident.Place, peers Peers, askOrders func()) *Exchange {
	return &Exchange{
		place: place, peers: peers, started: time.Now(), askOrders: askOrders,
		credits: dispatch.NewCredits(place), readiness: dispatch.NewReadiness(place),
		senders: map[sender]func(dispatch.Credited){}, located: map[ident.NodeID]*located{}, calls: map[dispatch.CallID]chan dispatch.CheckAnswer{},
	}
}

func (x *Exchange) mono() ident.MonoMs { return ident.MonoMs(time.Since(x.started).Milliseconds()) }

// Run tells other nodes what this one has consumed, until the context ends.
func (x *Exchange) Run(ctx context.Context) {
	tick := time.NewTicker(dispatch.CreditEvery)
	defer tick.Stop()
	var posts sync.WaitGroup
	defer posts.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		x.mu.Lock()
		due := x.credits.Step(dispatch.CreditTick{Now: x.mono()})
		x.obeyReadiness(x.readiness.Step(dispatch.ReadinessTick{Now: x.mono()}))
		x.mu.Unlock()
		for _, p := range due {
			if p.Message.To == x.place.Node {
				x.Take(p.Message)
				x.posted(p.Message, nil)
				continue
			}
			posts.Go(func() { x.post(ctx, p.Message) })
		}
	}
}

func (x *Exchange) post(ctx context.Context, m dispatch.CreditMessage) {
	ctx, cancel := context.WithTimeout(ctx, dispatch.CreditDeadline)
	defer cancel()
	address, ok := x.address(m.To)
	err := fmt.Errorf("node %s has no known address", m.To)
	if ok {
		err = failpoint.Hit(failpoint.CreditBeforeTell)
	}
	if err == nil {
		err = x.peers.Credits(ctx, address, m)
	}
	x.posted(m, err)
}

func (x *Exchange) posted(m dispatch.CreditMessage, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.credits.Step(dispatch.CreditPosted{To: m.To, Seq: m.Seq, Err: err})
}

// Take takes a credit message for this node. What is not for one of its senders is void.
func (x *Exchange) Take(m dispatch.CreditMessage) {
	if m.To != x.place.Node {
		return
	}
	for _, e := range m.Entries {
		x.mu.Lock()
		give := x.senders[sender{e.Stream, e.Stage, e.Upstream}]
		x.mu.Unlock()
		if give != nil {
			give(dispatch.Credited{From: m.From, Entry: e})
		}
	}
}

// located is where a node is reached, and the streams whose placements name it: it is forgotten with the last of them.
type located struct {
	address string
	streams map[ident.StreamID]struct{}
}

// Locate remembers where the nodes of a stream's placement are reached, until Close.
func (x *Exchange) Locate(stream ident.StreamID, addresses map[ident.NodeID]string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for node, address := range addresses {
		l := x.located[node]
		if l == nil {
			l = &located{streams: map[ident.StreamID]struct{}{}}
			x.located[node] = l
		}
		l.address = address
		l.streams[stream] = struct{}{}
	}
}

// unlocate forgets where the nodes of a stream are reached, under x.mu.
func (x *Exchange) unlocate(stream ident.StreamID) {
	for node, l := range x.located {
		delete(l.streams, stream)
		if len(l.streams) == 0 {
			delete(x.located, node)
		}
	}
}

func (x *Exchange) address(node ident.NodeID) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.located[node]
	if l == nil {
		return "", false
	}
	return l.address, true
}

// AddSender registers a sending task; give is called with what receivers say to it and must not block.
func (x *Exchange) AddSender(s dispatch.Self, give func(dispatch.Credited)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.senders[sender{s.Stream, s.Stage, s.Task}] = give
}

// OpenChannel says that a task of this node takes messages of an upstream that runs on the given node.
func (x *Exchange) OpenChannel(ch dispatch.Channel, from ident.NodeID) {
	x.credit(dispatch.Opened{Channel: ch, From: from})
}

// Consumed says that messages of a channel are processed.
func (x *Exchange) Consumed(ch dispatch.Channel, upTo ident.MsgID) {
	x.credit(dispatch.Consumed{Channel: ch, Msg: upTo})
}

// HeldBack says that messages of a channel wait for the triggers of others.
func (x *Exchange) HeldBack(ch dispatch.Channel) { x.credit(dispatch.HeldBack{Channel: ch}) }

// Released says that they do not wait any more.
func (x *Exchange) Released(ch dispatch.Channel) { x.credit(dispatch.Released{Channel: ch}) }

// Answer answers a question for a floor.
func (x *Exchange) Answer(ch dispatch.Channel, q watermark.Question, w ident.EventMs) {
	x.credit(dispatch.FloorAnswered{Channel: ch, Question: int64(q), Watermark: w})
}

// Notice passes on what a receiver has to say about messages that it does not take.
func (x *Exchange) Notice(n dispatch.Notice) { x.credit(dispatch.Noticed(n)) }

func (x *Exchange) credit(e dispatch.CreditEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.credits.Step(e)
}

// AskOrders makes the node ask the coordinator for its orders.
func (x *Exchange) AskOrders() { x.askOrders() }

// Close forgets what belongs to a stream up to a stage: its senders and channels, and where its nodes are. Of two stages of
// a stream the lower one is closed before the higher one is located.
func (x *Exchange) Close(stream ident.StreamID, stage ident.Stage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.credits.Step(dispatch.Closed{Stream: stream, Stage: stage})
	x.unlocate(stream)
	for s := range x.senders {
		if s.stream == stream && s.stage <= stage {
			delete(x.senders, s)
		}
	}
}
