package kafka

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/pondage/pondage/internal/ident"
)

const (
	// pausedWait replaces MaxWait while some subscription of the loop has a full inbox: once it resumes, it waits for the
	// fetch under way no longer than this.
	pausedWait = 5 * time.Millisecond
	// floorBytes is what a subscription without a chunk may fetch while the budget is used up.
	floorBytes = 64 << 10
	// budgetWait is how long a loop waits for the budget when all its subscriptions hold chunks.
	budgetWait = 5 * time.Millisecond
	// answerGrace is what an answer may take beyond the wait that the request allows, over the request timeout.
	answerGrace = time.Second
)

// laneKey tells the loops apart.
type laneKey struct {
	broker    int32
	isolation Isolation
	number    int // 0, and more where one partition is subscribed several times
}

// lane is one fetch loop: one connection to one broker, many partitions a request.
type lane struct {
	f      *Fetcher
	key    laneKey
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // one place

	subs []*Subscription // guarded by f.mu

	// The rest belongs to the loop.
	conn    *conn
	first   *Subscription // begins the next request: brokers fill partitions in the order asked for
	asked   []*Subscription
	parts   []fetchPart // of asked, by index
	request []byte
}

func newLane(f *Fetcher, key laneKey) *lane {
	ctx, cancel := context.WithCancel(f.ctx)
	return &lane{f: f, key: key, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1)}
}

func (l *lane) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) reads(s *Subscription) bool {
	return slices.ContainsFunc(l.subs, func(o *Subscription) bool { return compareSubscriptions(o, s) == 0 })
}

func (l *lane) remove(s *Subscription) {
	l.subs = slices.DeleteFunc(l.subs, func(o *Subscription) bool { return o == s })
}

// run fetches until the loop is cancelled.
func (l *lane) run() {
	defer l.disconnect()
	var wait backoff
	for {
		maxWait, ok := l.gather()
		if !ok {
			return
		}
		if err := l.fetch(maxWait); err != nil {
			l.disconnect()
			if l.ctx.Err() != nil {
				return
			}
			l.report(err)
			if !pause(l.ctx, wait.next()) {
				return
			}
			continue
		}
		wait.reset()
	}
}

func (l *lane) disconnect() {
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}

// report tells the subscriptions of the request that it failed: they stop where trying again cannot help, else the
// router looks whether their leaders have moved.
func (l *lane) report(err error) {
	for _, s := range l.asked {
		if Transient(err) {
			s.failed(err)
		} else {
			l.f.end(s, err)
		}
	}
	l.f.router.kick()
}

// gather waits until there is something to ask for and notes it in asked and parts. It returns how long the broker may
// wait, and false when the loop is over.
func (l *lane) gather() (maxWait time.Duration, ok bool) {
	for l.ctx.Err() == nil {
		paused := l.collect()
		var budget <-chan time.Time // nothing wanted: only a wake-up changes that
		if len(l.parts) > 0 {
			if l.fitBudget() {
				if paused {
					return min(pausedWait, l.f.cfg.MaxWait), true
				}
				return l.f.cfg.MaxWait, true
			}
			budget = time.After(budgetWait)
		}
		select {
		case <-l.ctx.Done():
		case <-l.wake:
		case <-budget:
		}
	}
	return 0, false
}

// collect notes every subscription that wants something, in the order of topics and partitions, begun at l.first.
func (l *lane) collect() (paused bool) {
	l.asked, l.parts = l.asked[:0], l.parts[:0]
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	slices.SortFunc(l.subs, compareSubscriptions)
	start := max(0, slices.Index(l.subs, l.first))
	for i := range l.subs {
		s := l.subs[(start+i)%len(l.subs)]
		position, ok := s.want()
		if !ok {
			paused = true
			continue
		}
		l.asked = append(l.asked, s)
		l.parts = append(l.parts, fetchPart{
			topic: s.identity(), partition: s.spec.Partition, epoch: s.epoch, from: position, maxBytes: s.spec.MaxBytes,
		})
	}
	return paused
}

func (s *Subscription) identity() TopicID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// fitBudget tells whether the request may be made. When the budget is used up only subscriptions that hold no chunk ask,
// for little: whoever they feed may be what frees the memory of the others.
func (l *lane) fitBudget() bool {
	want := 0
	for _, p := range l.parts {
		want += p.maxBytes
	}
	n := int64(min(want, l.f.cfg.RequestBytes))
	if l.f.cfg.Budget.TryTake(n) {
		l.f.cfg.Budget.Give(n) // what comes is taken when its size is known; a broker may be silent for long
		return true
	}
	kept := 0
	for i := range l.parts {
		if l.asked[i].holds() == 0 {
			l.asked[kept], l.parts[kept] = l.asked[i], l.parts[i]
			l.parts[kept].maxBytes = min(floorBytes, l.parts[kept].maxBytes)
			kept++
		}
	}
	l.asked, l.parts = l.asked[:kept], l.parts[:kept]
	return kept > 0
}

// fetch makes one request and delivers what comes.
func (l *lane) fetch(maxWait time.Duration) error {
	if err := l.connect(); err != nil {
		return err
	}
	cn := l.conn
	cn.correlation++
	l.request = appendFetch(l.request[:0], cn.correlation, cn.clientID, l.key.isolation, maxWait, l.f.cfg.RequestBytes, l.parts)
	deadline := time.Now().Add(cn.timeout + maxWait + answerGrace)
	if err := cn.net.SetDeadline(deadline); err != nil {
		return classify("fetch", "", NoPartition, err)
	}
	if _, err := cn.net.Write(l.request); err != nil {
		return classify("fetch", "", NoPartition, err)
	}
	l.first = nil
	w := &wireReader{r: cn.r}
	cursor := 0
	code, err := readFetch(w, cn.correlation, func(a *fetchAnswer) { cursor = l.answer(w, a, cursor) })
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	if err != nil {
		return classify("fetch", "", NoPartition, err)
	}
	if l.first == nil {
		l.first = l.leftOut()
	}
	return nil
}

// leftOut returns the first subscription that the answer says nothing about: some brokers end it where it is full.
func (l *lane) leftOut() *Subscription {
	for i := range l.parts {
		if !l.parts[i].answered {
			return l.asked[i]
		}
	}
	return nil
}

func (l *lane) connect() error {
	if l.conn != nil {
		return nil
	}
	l.f.mu.Lock()
	address := l.f.brokers[l.key.broker]
	l.f.mu.Unlock()
	cn, err := l.f.client.cfg.dialBroker(l.ctx, address)
	if err != nil {
		return err
	}
	l.conn = cn
	return nil
}

// answer takes one partition of an answer. cursor is where the partition is looked for first: brokers mostly answer in
// the order of the request. It returns the place behind the one found.
func (l *lane) answer(w *wireReader, a *fetchAnswer, cursor int) int {
	i, ok := l.find(a, cursor)
	if !ok {
		w.skip(a.size)
		return cursor
	}
	s := l.asked[i]
	l.parts[i].answered = true
	if a.code != 0 {
		w.skip(a.size)
		l.refused(s, kerr.ErrorForCode(a.code))
		return i + 1
	}
	c := l.chunk(s, a, l.parts[i].from)
	err := l.readBatches(w, c, a.size)
	switch {
	case w.err != nil:
		c.Release()
	case err != nil:
		c.Release()
		l.f.end(s, err)
	case s.answered(c, time.Now()) || c.Size() > 0:
		s.deliver(c)
	}
	return i + 1
}

func (l *lane) find(a *fetchAnswer, cursor int) (int, bool) {
	for n := range l.parts {
		i := (cursor + n) % len(l.parts)
		if p := &l.parts[i]; p.partition == a.partition && p.topic == a.topic {
			return i, true
		}
	}
	return 0, false
}

// refused takes the broker's refusal of one partition: out of the loop, the router finds out what is the matter.
func (l *lane) refused(s *Subscription, err error) {
	classified := classify("fetch", s.spec.Topic, s.spec.Partition, err)
	s.failed(classified)
	switch CodeOf(classified) {
	case CodeTopicUnknown, CodeTopicRecreated, CodeBrokerBusy, CodeDiskFull, CodeUnreachable:
		l.f.leave(s)
	case CodeOffsetsLost:
		l.f.mu.Lock()
		s.outOfRange = true
		l.f.unroute(s)
		l.f.mu.Unlock()
	default:
		l.f.end(s, classified)
	}
	l.f.router.kick()
}

func (l *lane) chunk(s *Subscription, a *fetchAnswer, from ident.NextOffset) *Chunk {
	slices.SortFunc(a.aborted, func(x, y abortedTxn) int { return cmp.Compare(x.first, y.first) })
	return &Chunk{
		Sub: s, Topic: s.spec.Topic, Partition: s.spec.Partition, From: from, Next: from,
		HighWatermark: a.highWatermark, LastStable: a.lastStable, LogStart: a.logStart,
		aborted: a.aborted, committed: s.spec.Isolation == ReadCommitted,
	}
}

// readBatches reads the record batches into memory of the chunk and finds the position behind them. An error is a log
// that cannot be read; an error of the connection is in w.
func (l *lane) readBatches(w *wireReader, c *Chunk, size int) error {
	if size > 0 {
		memory := l.lend(c, size)
		if w.full(*memory); w.err != nil {
			return nil //nolint:nilerr // the connection's error stays in w
		}
		if err := c.trim(*memory); err != nil {
			return err
		}
	}
	c.Filled = c.Lag() > 0
	if c.Size() == 0 {
		c.Release()
		if c.Filled && l.first == nil {
			// There was no room for it, or its first batch was cut. Only the first partition of a request is sure to get
			// a whole batch of any size: it is the next one to be first.
			l.first = c.Sub
		}
	}
	return nil
}

// lend gives the chunk memory that counts against the budget until it is released.
func (l *lane) lend(c *Chunk, size int) *[]byte {
	memory := lentBuffers.get(size)
	charge := int64(cap(*memory))
	budget, s := l.f.cfg.Budget, c.Sub
	budget.Take(charge)
	s.hold(1)
	c.release = func() {
		lentBuffers.put(memory)
		budget.Give(charge)
		s.hold(-1)
	}
	return memory
}

// trim keeps the complete batches of b and sets Next behind them. The last one may be cut: it comes again.
func (c *Chunk) trim(b []byte) error {
	n := 0
	for n < len(b) {
		h, complete, err := parseBatch(b[n:])
		if err != nil && n == 0 {
			return locate(err, c.Topic, c.Partition)
		}
		if err != nil || !complete {
			break // what is before it is delivered first
		}
		n += h.size
		c.Next = max(c.Next, ident.NextOffset(h.last+1))
	}
	c.batches = b[:n:n]
	return nil //nolint:nilerr // a damaged batch behind others is the first one of the next chunk, and named there
}
