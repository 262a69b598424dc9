package vectors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/watermark"
)

// cluster is a stream on one node in virtual time: a source task with the only partition, the receiving tasks of all
// vgroups, and the edge between them. Time passes when step says so.
type cluster struct {
	now       ident.MonoMs
	place     ident.Place
	source    *source
	receivers []*receiver
	edge      map[ident.Task]*log
	credits   *dispatch.Credits
	results   *table
}

// Identities of the virtual stream.
const (
	virtualStream ident.StreamID = 1
	virtualStage  ident.Stage    = 1
)

const (
	tickMs = ident.MonoMs(watermark.TickEvery / 1e6)
	// settleSteps are ticks after the last record: long enough for a watermark that travels alone (watermark.TellWithin) and
	// for the credits, too short for the partition to become idle (watermark.IdleMargin).
	settleSteps = 20
)

// errNoEdge: all vectors have windows, so all their streams have an edge.
var errNoEdge = errors.New("a stream without edge is no windowed one")

func newCluster(p *plan.Plan) (*cluster, error) {
	c := &cluster{place: ident.Place{Node: "virtual", Instance: ident.Instance{Counter: 1}}, edge: map[ident.Task]*log{}, results: newTable(p)}
	c.credits = dispatch.NewCredits(c.place)
	g := p.Graph(virtualStream, 1)
	if len(g.Edges) == 0 {
		return nil, errNoEdge
	}
	var senders, takers []dispatch.Peer
	for _, t := range g.Tasks {
		peer := dispatch.Peer{Task: t.Task, Place: c.place}
		if t.Task.Level == ident.LevelSource {
			senders = append(senders, peer)
		} else {
			takers = append(takers, peer)
		}
	}
	for _, t := range takers {
		c.edge[t.Task] = &log{}
		r, err := newReceiver(c, p, t.Task, senders)
		if err != nil {
			return nil, err
		}
		c.receivers = append(c.receivers, r)
		for _, s := range senders {
			c.credits.Step(dispatch.Opened{Channel: r.channel(s.Task), From: c.place.Node})
		}
	}
	var err error
	c.source, err = newSource(c, p, senders[0].Task, takers)
	return c, err
}

func (c *cluster) self(t ident.Task) dispatch.Self {
	return dispatch.Self{Stream: virtualStream, Stage: virtualStage, Task: t, Place: c.place}
}

// feed sends the records, so many at a time (0: all), and lets everything settle.
func (c *cluster) feed(lines [][]byte, cut int) error {
	if err := c.source.begin(); err != nil {
		return err
	}
	if cut == 0 {
		cut = max(len(lines), 1)
	}
	for chunk := range slices.Chunk(lines, cut) {
		if err := c.source.take(chunk); err != nil {
			return err
		}
		if err := c.step(); err != nil {
			return err
		}
	}
	for range settleSteps {
		if err := c.step(); err != nil {
			return err
		}
	}
	if !c.source.sender.Settled() {
		return fmt.Errorf("virtual time %d ms: messages of %s are still under way", c.now, c.source.self.Task)
	}
	return nil
}

// step lets one tick pass: the edge is read, credits are told, every core gets its tick.
func (c *cluster) step() error {
	c.now += tickMs
	for _, r := range c.receivers {
		if err := r.poll(); err != nil {
			return fmt.Errorf("%s: %w", r.self.Task, err)
		}
	}
	for _, post := range c.credits.Step(dispatch.CreditTick{Now: c.now}) {
		for _, e := range post.Message.Entries {
			if err := c.source.send(dispatch.Credited{From: post.Message.From, Entry: e, Now: c.now}); err != nil {
				return err
			}
		}
		c.credits.Step(dispatch.CreditPosted{To: post.Message.To, Seq: post.Message.Seq})
	}
	if err := c.source.tick(); err != nil {
		return fmt.Errorf("%s: %w", c.source.self.Task, err)
	}
	return nil
}
