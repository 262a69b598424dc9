package kafka

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// compareSubscriptions orders by topic, then partition: neighbours share a topic's entry in a request.
func compareSubscriptions(a, b *Subscription) int {
	return cmp.Or(strings.Compare(a.spec.Topic, b.spec.Topic), cmp.Compare(a.spec.Partition, b.spec.Partition))
}

// refresh asks for the metadata of all subscribed topics and routes each subscription by it. settled is false when some
// subscription still has no leader to read from.
func (f *Fetcher) refresh(ctx context.Context) (settled bool, err error) {
	subs := f.subscriptions()
	if len(subs) == 0 {
		return true, nil
	}
	meta, err := f.client.metadata(ctx, topicsOf(subs))
	if err != nil {
		for _, s := range subs {
			s.failed(err)
		}
		return false, err
	}
	f.mu.Lock()
	f.brokers = meta.brokers
	f.mu.Unlock()
	settled = true
	for _, s := range subs {
		stop, err := f.place(s, meta.topics[s.spec.Topic])
		switch {
		case stop:
			f.end(s, err)
		case err != nil:
			s.failed(err)
			settled = false
		}
	}
	return settled, nil
}

func topicsOf(subs []*Subscription) []string {
	var names []string
	for _, s := range subs {
		if len(names) == 0 || names[len(names)-1] != s.spec.Topic { // subs are sorted
			names = append(names, s.spec.Topic)
		}
	}
	return names
}

// place puts a subscription where its partition's leader is. With stop, err is a named stop; without, it is why the
// partition cannot be read at the moment.
func (f *Fetcher) place(s *Subscription, t topicMeta) (stop bool, err error) {
	refuse := func(code Code, cause error, format string, args ...any) error {
		return &Error{
			Code: code, Op: "fetch", Topic: s.spec.Topic, Partition: s.spec.Partition,
			Detail: fmt.Sprintf(format, args...), Err: cause,
		}
	}
	if t.err != nil && codeOfCause(t.err) != CodeTopicUnknown {
		err := classify("fetch", s.spec.Topic, s.spec.Partition, t.err)
		f.leave(s)
		return !Transient(err), err
	}
	if t.err != nil || int(s.spec.Partition) >= len(t.Partitions) {
		err := refuse(CodeTopicUnknown, t.err, "the brokers know %d partitions of the topic", len(t.Partitions))
		return f.stillMissing(s), err
	}
	if id := s.identify(t.ID); id != t.ID {
		return true, refuse(CodeTopicRecreated, nil,
			"the position %d belongs to the topic with id %s; the topic of this name now has id %s: it was deleted and made again",
			s.Position(), id, t.ID)
	}
	if err := f.checkRange(s); err != nil {
		return !Transient(err), err
	}
	p := t.Partitions[s.spec.Partition]
	if p.Leader < 0 {
		f.leave(s)
		return false, refuse(CodeBrokerBusy, kerr.LeaderNotAvailable, "")
	}
	f.moveTo(s, p.Leader, p.LeaderEpoch)
	return false, nil
}

// identify takes the topic's id where none is known yet, and returns the one that the position belongs to.
func (s *Subscription) identify(present TopicID) TopicID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id.IsZero() {
		s.id = present
	}
	return s.id
}

// stillMissing notes that the brokers do not know the partition, and tells whether that is to be believed.
func (f *Fetcher) stillMissing(s *Subscription) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unroute(s)
	if s.missing.IsZero() {
		s.missing = time.Now()
	}
	return time.Since(s.missing) >= missingGrace
}

// checkRange looks at the log's bounds after a broker has refused the position as out of range.
func (f *Fetcher) checkRange(s *Subscription) error {
	f.mu.Lock()
	refused := s.outOfRange
	f.mu.Unlock()
	if !refused {
		return nil
	}
	starts, err := f.client.Starts(f.ctx, s.spec.Topic)
	if err != nil {
		return err
	}
	ends, err := f.client.Ends(f.ctx, s.spec.Topic)
	if err != nil {
		return err
	}
	f.mu.Lock()
	s.outOfRange = false
	f.mu.Unlock()
	position, start, end := s.Position(), starts[s.spec.Partition], ends[s.spec.Partition]
	lost := &Error{Code: CodeOffsetsLost, Op: "fetch", Topic: s.spec.Topic, Partition: s.spec.Partition}
	switch {
	case position < start:
		lost.Detail = fmt.Sprintf("the position is %d, the log begins at %d: %d offsets are lost", position, start, start-position)
	case position > end:
		lost.Detail = fmt.Sprintf("the position is %d, the log ends at %d: it was cut", position, end)
	default:
		return nil // a broker that was behind
	}
	return lost
}

// leave takes a subscription out of its loop.
func (f *Fetcher) leave(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unroute(s)
}

// moveTo puts a subscription into a loop of the broker.
func (f *Fetcher) moveTo(s *Subscription, broker, epoch int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, live := f.subs[s]; !live || f.closed {
		return
	}
	s.missing, s.epoch = time.Time{}, epoch
	if s.lane != nil && s.lane.key.broker == broker {
		return
	}
	f.unroute(s)
	l := f.laneFor(s, broker)
	s.lane = l
	l.subs = append(l.subs, s)
	l.wakeUp()
}

// laneFor returns the first loop of the broker that does not read the partition yet: one Fetch asks for a partition once.
func (f *Fetcher) laneFor(s *Subscription, broker int32) *lane {
	key := laneKey{broker: broker, isolation: s.spec.Isolation}
	for ; ; key.number++ {
		l, ok := f.lanes[key]
		if !ok {
			l = newLane(f, key)
			f.lanes[key] = l
			f.loops.Go(l.run)
			return l
		}
		if !l.reads(s) {
			return l
		}
	}
}

// unroute takes a subscription out of its loop; a loop without any ends.
func (f *Fetcher) unroute(s *Subscription) {
	l := s.lane
	if l == nil {
		return
	}
	s.lane = nil
	l.remove(s)
	if len(l.subs) == 0 {
		delete(f.lanes, l.key)
		l.cancel()
	}
}
