package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// pushes brings changed orders to nodes at once. One push a node is under way at a time; what changes meanwhile goes
// with the next.
type pushes struct {
	mu   sync.Mutex
	sent map[ident.NodeID][32]byte // hash of the orders that were last pushed, whatever became of that
	busy map[ident.NodeID]bool
}

func newPushes() *pushes {
	return &pushes{sent: map[ident.NodeID][32]byte{}, busy: map[ident.NodeID]bool{}}
}

// pushOrders starts a push to every living node whose orders are not what it was last sent. One that fails is not
// repeated: the node's next beat is answered with the same orders.
func (s *Service) pushOrders(ctx context.Context, p *picture, wg *sync.WaitGroup) {
	for _, n := range p.nodes {
		if n.State != store.NodeAlive {
			continue
		}
		orders := s.orders(p, n.ID)
		sum := digest(n, orders)
		if !s.push.begin(n.ID, sum) {
			continue
		}
		body := Push{Cluster: p.cluster.ID, Node: n.ID, Instance: n.Instance, Term: p.term, Orders: orders}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, pushTimeout)
			defer cancel()
			err := s.Nodes.Push(ctx, n.Address, body)
			if err != nil {
				s.Log.Debug("push orders", "node", n.ID, "error", err) // the next beat brings them
			}
			if s.push.end(n.ID, sum, err) {
				s.wake()
			}
		})
	}
}

// digest tells whether orders say something new. The start record is left out: it is for people.
func digest(n store.Node, orders []Order) [32]byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	_ = enc.Encode([]any{n.Instance, n.Address}) // a buffer does not fail
	for _, o := range orders {
		_ = enc.Encode([]any{o.Stream, o.Term, o.Generation, o.Stage, o.Wanted, o.Tasks, o.Complete, o.Settled, o.Retained})
	}
	return sha256.Sum256(b.Bytes())
}

// reset forgets what was sent, for a new term.
func (p *pushes) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.sent)
}

func (p *pushes) begin(id ident.NodeID, sum [32]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[id] || p.sent[id] == sum {
		return false
	}
	p.busy[id] = true
	return true
}

// end notes the outcome and tells whether the loop should look whether there is more. After a failure it should not: the
// node's next beat is the retry.
func (p *pushes) end(id ident.NodeID, sum [32]byte, err error) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[id] = false
	p.sent[id] = sum
	return err == nil
}
