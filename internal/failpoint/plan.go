package failpoint

import "sync"

// Plan says which points act, and when. It may be asked from any goroutine. Nil is a plan that does nothing.
type Plan struct {
	mu    sync.Mutex
	rules map[Point]*rule
}

// rule is one point of a plan.
type rule struct {
	action Action
	first  int // the hit it begins with, from 1
	always bool
	hits   int
}

// Next counts a hit of the point and returns what is to be done now; the zero Action where that is nothing.
func (p *Plan) Next(point Point) Action {
	if p == nil {
		return Action{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rules[point]
	if r == nil {
		return Action{}
	}
	r.hits++
	if r.hits == r.first || r.always && r.hits > r.first {
		return r.action
	}
	return Action{}
}

// On counts a hit of a misbehaviour and tells whether it is to be done now.
func (p *Plan) On(point Point) bool { return p.Next(point).Do == DoOn }
