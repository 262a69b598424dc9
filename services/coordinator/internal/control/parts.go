package control

import (
	"context"
	"maps"
	"sync"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// parts are the newest reports of tasks about their parts of checkpoints. Like the board they belong to one leader: tasks
// repeat their reports until they hear the verdict, so a new one is told again.
type parts struct {
	mu  sync.Mutex
	all map[taskKey]heardPart
}

// heardPart is a report, who sent it, and when it was heard first.
type heardPart struct {
	PartReport
	from ident.Place
	at   ident.MonoMs
}

func newParts() *parts { return &parts{all: map[taskKey]heardPart{}} }

// reset forgets everything, for a new term.
func (p *parts) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = map[taskKey]heardPart{}
}

// forget drops the reports of streams that are no more.
func (p *parts) forget(exists func(ident.StreamID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.all, func(k taskKey, _ heardPart) bool { return !exists(k.stream) })
}

// hear takes reports in, and tells whether any says something new. One of an older stage or checkpoint than the task has
// reported of already is a late one and changes nothing.
func (p *parts) hear(r PartReports, now ident.MonoMs) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, report := range r.Reports {
		key := taskKey{report.Attempt.Stream, report.Task}
		old, known := p.all[key]
		if known && (old.Attempt == report.Attempt || later(old.Attempt, report.Attempt)) {
			continue
		}
		p.all[key] = heardPart{report, ident.Place{Node: r.Node, Instance: r.Instance}, now}
		news = true
	}
	return news
}

func later(a, b store.Attempt) bool {
	if a.Stage != b.Stage {
		return a.Stage > b.Stage
	}
	return a.Checkpoint > b.Checkpoint
}

// of returns what placed tasks have reported about the attempt.
func (p *parts) of(a store.Attempt, placed []store.Task) map[ident.Task]heardPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[ident.Task]heardPart{}
	for _, t := range placed {
		if h, ok := p.all[taskKey{a.Stream, t.Task}]; ok && h.Attempt == a && h.from == t.Place {
			out[t.Task] = h
		}
	}
	return out
}

// ReportCheckpoints takes reports in. It needs no metastore.
func (s *Service) ReportCheckpoints(_ context.Context, r PartReports) (ident.Term, error) {
	term, err := s.term()
	if err != nil {
		return 0, err
	}
	p := s.picture.Load()
	if p == nil || p.term != term {
		return 0, errNotReady()
	}
	if err := checkPeer(p, r.Cluster, r.Node, term); err != nil {
		return 0, err
	}
	if n, known := p.nodes[r.Node]; known && n.Instance != r.Instance && n.Instance.Counter >= r.Instance.Counter {
		return 0, errorf(CodeSuperseded, "node %s has registered as instance %s, %s is older", r.Node, n.Instance, r.Instance)
	}
	if s.parts.hear(r, s.Clock.Mono()) {
		s.wake()
	}
	return term, nil
}
