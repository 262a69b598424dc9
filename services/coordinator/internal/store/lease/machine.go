package lease

import "github.com/pondage/pondage/internal/ident"

// The times of the lease (DESIGN §11).
const (
	// TTL is how long a beat must stand still until a standby takes over, in ms.
	TTL ident.MonoMs = 3_000
	// Renewal is how often the holder renews and a standby looks, in ms.
	Renewal ident.MonoMs = 1_000
	// Margin is how much earlier than TTL the holder stops to trust its lease, in ms: for clocks that run at different
	// speeds, and for what was begun just before.
	Margin ident.MonoMs = 500
)

// Released is the beat of a lease that was given up: it may be taken at once.
const Released = -1

// Seen is what the metastore's rows say.
type Seen struct {
	Term   ident.Term
	Holder string
	Beat   int64
}

// Role is what this process is.
type Role uint8

// The roles.
const (
	Standby Role = iota
	Holder
	Done // gave up for good: the process ends
)

// Machine decides for one process. The zero value is a standby that has seen nothing.
type Machine struct {
	role  Role
	term  ident.Term   // held, when role is Holder
	until ident.MonoMs // trusted until, when role is Holder
	next  ident.MonoMs // next attempt to read or renew
	seen  Seen
	since ident.MonoMs // when seen was seen first
	known bool         // seen is set
}

// Event is something that happened; times are of this process's monotonic clock and above zero.
type Event interface{ event() }

// Tick is time going on.
type Tick struct{ Now ident.MonoMs }

// Read is what a Look has found; At is when the answer was there.
type Read struct {
	At   ident.MonoMs
	Seen Seen
}

// Taken is a successful take-over that was begun at Begun.
type Taken struct {
	Begun ident.MonoMs
	Term  ident.Term
}

// Renewed is a successful renewal that was begun at Begun.
type Renewed struct {
	Begun ident.MonoMs
	Term  ident.Term
}

// Lost says that the metastore has refused the term: another one is current.
type Lost struct{}

// Resign is the process's end.
type Resign struct{}

func (Tick) event()    {}
func (Read) event()    {}
func (Taken) event()   {}
func (Renewed) event() {}
func (Lost) event()    {}
func (Resign) event()  {}

// Effect is what is to be done; its result comes back as an event. A failed attempt is no event: the next tick repeats.
type Effect interface{ effect() }

// Look asks to read the rows.
type Look struct{}

// TakeOver asks to raise the term, on the condition that the rows are still as they were seen.
type TakeOver struct{ From Seen }

// Renew asks to raise the beat of the term.
type Renew struct{ Term ident.Term }

// Release asks to mark the term's lease as given up.
type Release struct{ Term ident.Term }

// Lead says that this process leads in the term from now on.
type Lead struct{ Term ident.Term }

// StepDown says that it does no longer: everything that acts for the term ends.
type StepDown struct{ Term ident.Term }

func (Look) effect()     {}
func (TakeOver) effect() {}
func (Renew) effect()    {}
func (Release) effect()  {}
func (Lead) effect()     {}
func (StepDown) effect() {}

// Role returns what the process is.
func (m *Machine) Role() Role { return m.role }

// Trusted tells whether the lease of the term is held and may be acted on at the given time. Who acts asks immediately
// before.
func (m *Machine) Trusted(now ident.MonoMs) (ident.Term, bool) {
	return m.term, m.role == Holder && now < m.until
}

// Step advances the machine by one event.
func (m *Machine) Step(ev Event) []Effect {
	switch e := ev.(type) {
	case Tick:
		return m.tick(e.Now)
	case Read:
		return m.read(e)
	case Taken:
		if m.role != Standby {
			return nil
		}
		m.role, m.term = Holder, e.Term
		m.trust(e.Begun)
		return []Effect{Lead{e.Term}}
	case Renewed:
		if m.role == Holder && m.term == e.Term {
			m.trust(e.Begun)
		}
	case Lost:
		return m.stepDown()
	case Resign:
		effects := m.stepDown()
		if len(effects) > 0 {
			effects = append(effects, Release{m.term})
		}
		m.role = Done
		return effects
	}
	return nil
}

func (m *Machine) trust(begun ident.MonoMs) {
	m.until = max(m.until, begun+TTL-Margin)
	m.next = begun + Renewal
}

func (m *Machine) stepDown() []Effect {
	if m.role != Holder {
		return nil
	}
	m.role, m.known, m.until, m.next = Standby, false, 0, 0
	return []Effect{StepDown{m.term}}
}

func (m *Machine) tick(now ident.MonoMs) []Effect {
	switch {
	case m.role == Done:
		return nil
	case m.role == Holder && now >= m.until:
		return m.stepDown()
	case now < m.next:
		return nil
	}
	m.next = now + Renewal
	if m.role == Holder {
		return []Effect{Renew{m.term}}
	}
	return []Effect{Look{}}
}

// read watches the beat of another holder.
func (m *Machine) read(e Read) []Effect {
	if m.role != Standby {
		return nil
	}
	if !m.known || m.seen != e.Seen {
		m.seen, m.since, m.known = e.Seen, e.At, true
	}
	if e.Seen.Beat == Released || e.At >= m.since+TTL {
		return []Effect{TakeOver{m.seen}}
	}
	return nil
}
