package chaos

import (
	"context"
	"sync"
	"time"
)

// observer reads the transactional tables while the run goes on: what a reader has been shown there must stay.
type observer struct {
	mu   sync.Mutex
	seen map[string]map[string][]string // by stream and key, the first values seen
	// broken are keys that a reader has seen change or vanish, in words.
	broken []string
}

// observeEvery is how often the tables are read.
const observeEvery = time.Second

// watch reads until the context ends. A database that is away shows nothing.
func (o *observer) watch(ctx context.Context, dsn string, queries []Query) {
	for sleep(ctx, observeEvery) {
		for _, q := range queries {
			if q.Postgres != deliveryTransactional {
				continue
			}
			within, cancel := context.WithTimeout(ctx, askWithin)
			rows, err := readTable(within, dsn, q)
			cancel()
			if err == nil {
				o.note(q, rows)
			}
		}
	}
}

// note takes what one reading has shown.
func (o *observer) note(q Query, rows []Row) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen[q.Name]
	if seen == nil {
		seen = map[string][]string{}
		if o.seen == nil {
			o.seen = map[string]map[string][]string{}
		}
		o.seen[q.Name] = seen
	}
	present := map[string]bool{}
	for _, r := range rows {
		present[r.Key] = true
		if _, ok := seen[r.Key]; !ok {
			seen[r.Key] = r.Values
		}
	}
	for key := range seen {
		if !present[key] {
			o.broken = append(o.broken, q.Name+" in postgres: a reader has seen it, later it was gone: "+key)
			delete(seen, key)
		}
	}
}

// observed are the rows that readers have seen, as an output: each must be as the answer has it. Those never seen are taken
// from the answer.
func (r *run) observed(q Query, answer Answer) []Output {
	r.observer.mu.Lock()
	defer r.observer.mu.Unlock()
	seen := r.observer.seen[q.Name]
	if len(seen) == 0 {
		return nil
	}
	out := Output{Name: "postgres, as readers have seen it"}
	for key, values := range answer.Rows {
		if _, ok := seen[key]; !ok {
			out.Rows = append(out.Rows, Row{Key: key, Values: values})
		}
	}
	for key, values := range seen {
		out.Rows = append(out.Rows, Row{Key: key, Values: values})
	}
	return []Output{out}
}
