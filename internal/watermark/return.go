package watermark

import "github.com/pondage/pondage/internal/ident"

// fetched learns from an answer of the broker whether a partition is there, silent, or coming back.
func (s *Source) fetched(e Fetched) error {
	p, err := s.part(e.Partition)
	if err != nil {
		return err
	}
	p.lag = e.Lag
	if e.Records > 0 {
		p.lastRecord = e.Now
	}
	switch p.phase {
	case silent:
		if e.Records > 0 {
			s.comeBack(p, e.Now)
		} else {
			s.maybeIdle(p, e.Now)
		}
	case active:
		if e.Records == 0 {
			s.maybeIdle(p, e.Now)
		}
	case idle:
		// Lag alone brings it back too: something is there that has not been read.
		if e.Records > 0 || e.Lag != LagNone {
			s.comeBack(p, e.Now)
		}
	case waiting:
		s.emit(Wait{Partition: p.number})
	case done:
	}
	return nil
}

// maybeIdle calls a partition idle when the broker has just confirmed that it has no record, and had none for the idle
// timeout. Without that answer a paused reader or a slow broker would look like silence. Short of its bound a partition
// is never idle.
func (s *Source) maybeIdle(p *partition, now ident.MonoMs) {
	if p.lag == LagNone && !p.until.Set() && int64(now-p.lastRecord) >= s.idleAfter {
		p.phase = idle
	}
}

// comeBack gives a partition its floor before its rows count. While the destinations have waited for this task the
// floor is what it has sent. Once they were told that it is idle they may have closed windows by silence: they are
// told `active`, hold the minimum from then on, and the floor is the highest of their answers.
func (s *Source) comeBack(p *partition, now ident.MonoMs) {
	if !s.moved || len(s.told.dests) == 0 {
		s.moved = false
		s.awake()
		p.join(s.told.watermark)
		return
	}
	p.phase = waiting
	s.emit(Wait{Partition: p.number})
	if !s.asked.pending() {
		s.awake()
		q := s.asked.begin(s.told.tasks())
		s.out = s.told.ask(s.out, q, now)
	}
}

func (s *Source) awake() { s.asleep, s.told.idle = false, false }

// join puts the partition into the minimum, at the floor or above.
func (p *partition) join(floor ident.EventMs) {
	p.phase = active
	p.raiseFloor(int64(floor))
}

// answered lets the waiting partitions go once every destination has answered. A source has one question at a time:
// partitions that come back while it is open wait for the same answers.
func (s *Source) answered(e Answered) {
	for _, q := range s.asked.answer(e) {
		s.moved = false
		s.letGo(max(q.highest, s.told.watermark))
	}
}

func (s *Source) letGo(floor ident.EventMs) {
	for _, p := range s.order {
		if p.phase == waiting {
			p.join(floor)
			s.emit(Go{Partition: p.number, Floor: ident.EventMs(p.floor)})
		}
	}
}
