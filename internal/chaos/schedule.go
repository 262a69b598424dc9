package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/failpoint"
)

// Kind is a kind of fault, as --faults names it.
type Kind string

// The kinds of faults.
const (
	KindKill      Kind = "kill"      // kill -9 of a role, which stays down for a while
	KindStop      Kind = "stop"      // SIGSTOP of a role, up to a third of the run
	KindRestart   Kind = "restart"   // a role ends, by kill -9 or by SIGTERM, and is back within 300 ms
	KindBroker    Kind = "broker"    // a broker is killed, restarted, stopped; leaders move
	KindPostgres  Kind = "postgres"  // the database is killed, or stalls
	KindFailpoint Kind = "failpoint" // a role runs on with a failpoint switched on
	KindSlow      Kind = "slow"      // every fsync of a process takes long
	KindNet       Kind = "net"       // connections are cut, hold still, or are slow
	KindTopic     Kind = "topic"     // the edge topics of a stream are deleted
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{KindKill, KindStop, KindRestart, KindBroker, KindPostgres, KindFailpoint, KindSlow, KindNet, KindTopic}
}

// How says what exactly is done.
type How string

// What is done, beside what the kind says by itself.
const (
	HowKill        How = "kill"         // kill -9
	HowTerminate   How = "terminate"    // SIGTERM
	HowStop        How = "stop"         // SIGSTOP, then SIGCONT
	HowMoveLeaders How = "move-leaders" // every partition gets another leader
	HowHold        How = "hold"         // connections stay, nothing passes
	HowDelay       How = "delay"        // everything that passes is late
	HowCut         How = "cut"          // connections end without a word
	HowLoseRequest How = "lose-request" // a COMMIT does not arrive, its connection ends later
	HowLoseAnswer  How = "lose-answer"  // a COMMIT arrives, its answer does not, its connection ends later
	HowDelete      How = "delete"
	HowSlowSync    How = "slow-sync"
	HowFailpoint   How = "failpoint"
)

// What is not one of many. Coordinators, workers, brokers and streams have names of their own.
const (
	TargetPostgres = "postgres"
	TargetKafka    = "kafka" // all brokers
)

// Fault is one thing that is done.
type Fault struct {
	At     time.Duration `json:"at_ns"` // since the writing of records began
	Kind   Kind          `json:"kind"`
	How    How           `json:"how"`
	Target string        `json:"target"`
	For    time.Duration `json:"for_ns"` // how long it lasts
	// Switch is the text of a failpoint.
	Switch string `json:"switch,omitempty"`
}

func (f Fault) String() string {
	text := fmt.Sprintf("%5.1f s  %s %s %s", f.At.Seconds(), f.Kind, f.How, f.Target)
	if f.Switch != "" {
		text += " " + f.Switch
	}
	return text + fmt.Sprintf(" for %.1f s", f.For.Seconds())
}

// Scene is what a schedule has to choose from.
type Scene struct {
	Kinds        []Kind
	Duration     time.Duration
	Coordinators []string
	Workers      []string
	Brokers      []string
	BrokerEnd    How      // how a broker ends: HowKill or HowTerminate
	Streams      []string // those with edges
	// Failpoint is the text of the one failpoint to be used; "": any place.
	Failpoint string
}

// A fault begins after the first part of the run, and everything is over before the last one begins: at either end the
// streams are to be seen without.
const (
	quietStart = 0.05
	quietEnd   = 0.90
	// longestStop is the part of the run that a stopped process may be stopped for.
	longestStop = 1.0 / 3
	// every is the mean time from one fault to the next.
	every = 5 * time.Second
	// fewest faults of a run, however short.
	fewest = 3
)

// Schedule returns the faults of a seed, by the time they begin.
func Schedule(seed uint64, s Scene) []Fault {
	if len(s.Kinds) == 0 {
		return nil
	}
	const stream = 0xfa017
	r := rand.New(rand.NewPCG(seed, stream))
	var out []Fault
	failpoints := 0
	// Every kind comes once in a row before one comes again, so that few seeds meet every kind.
	var kinds []Kind
	for range max(fewest, int(s.Duration/every)) {
		if len(kinds) == 0 {
			kinds = slices.Clone(s.Kinds)
			r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		f := s.draw(r, kinds[0])
		if f.Kind == KindFailpoint {
			s.place(r, &f, seed, failpoints)
			failpoints++
		}
		kinds = kinds[1:]
		first, last := part(s.Duration, quietStart), part(s.Duration, quietEnd)
		f.For = min(f.For, last-first)
		f.At = between(r, first, last-f.For)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return out
}

// draw makes a fault of a kind, without its time and its failpoint.
func (s Scene) draw(r *rand.Rand, k Kind) Fault {
	f := Fault{Kind: k, For: between(r, time.Second, 6*time.Second)}
	switch k {
	case KindKill:
		f.How, f.Target = HowKill, s.role(r)
	case KindStop:
		f.How, f.Target, f.For = HowStop, s.role(r), between(r, time.Second, part(s.Duration, longestStop))
	case KindRestart:
		f.How, f.Target, f.For = one(r, HowKill, HowTerminate), s.role(r), 0
	case KindBroker:
		hows := []How{s.BrokerEnd, s.BrokerEnd, HowStop}
		if len(s.Brokers) > 1 {
			hows = append(hows, HowMoveLeaders)
		}
		f.How, f.Target = one(r, hows...), one(r, s.Brokers...)
	case KindPostgres:
		f.How, f.Target = one(r, HowKill, HowHold, HowLoseRequest, HowLoseAnswer), TargetPostgres
	case KindFailpoint:
		f.How = HowFailpoint
	case KindSlow:
		f.How, f.Target = HowSlowSync, one(r, append(slices.Clone(s.Workers), TargetPostgres)...)
	case KindNet:
		f.Target = one(r, append(s.roles(), TargetPostgres, TargetKafka)...)
		if f.How = one(r, HowCut, HowHold, HowDelay); f.Target == TargetKafka {
			f.How = HowCut
		}
		if f.How == HowCut {
			f.For = 0
		}
	case KindTopic:
		f.How, f.Target, f.For = HowDelete, one(r, s.Streams...), 0
	}
	return f
}

// place chooses a failpoint, what happens there, and whose. The first of a seed is the next of the list from one seed to the
// next: a series as long as the list comes by all of them.
func (s Scene) place(r *rand.Rand, f *Fault, seed uint64, nth int) {
	f.Switch = s.Failpoint
	if f.Switch == "" {
		var places []failpoint.Info
		for _, p := range failpoint.Points() {
			if p.Kind == failpoint.KindPlace {
				places = append(places, p)
			}
		}
		n := uint64(len(places))
		action := one(r, "die", "die", "die", "error(EIO)", "error(ENOSPC)", "sleep(2s)")
		// Some places are met once a stage, others all the time.
		hit := one(r, 1, 1, 1, 2, 3, 12)
		f.Switch = fmt.Sprintf("%s=%s@%d", places[(seed+uint64(nth)*(n/2))%n].Point, action, hit)
	}
	f.Target = one(r, s.Workers...)
	if Coordinators(pointOf(f.Switch)) {
		f.Target = one(r, s.Coordinators...)
	}
	const atLeast, atMost = 4 * time.Second, 12 * time.Second // long enough for the place to be met
	f.For = between(r, atLeast, atMost)
}

// pointOf is the name in a failpoint's text.
func pointOf(text string) string {
	point, _, _ := strings.Cut(text, "=")
	point, _, _ = strings.Cut(point, "@")
	return point
}

// Coordinators tells whether a failpoint is met in a coordinator.
func Coordinators(point string) bool {
	for _, p := range failpoint.Points() {
		if string(p.Point) == point {
			return strings.HasPrefix(p.Where, "services/coordinator") || p.Where == "internal/checkpoint"
		}
	}
	return false
}

// misbehaves tells whether a failpoint's text switches a wrong step on.
func misbehaves(text string) bool {
	for _, p := range failpoint.Points() {
		if string(p.Point) == pointOf(text) {
			return p.Kind == failpoint.KindMisbehaviour
		}
	}
	return false
}

func (s Scene) roles() []string { return slices.Concat(s.Coordinators, s.Workers) }

func (s Scene) role(r *rand.Rand) string { return one(r, s.roles()...) }

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func part(d time.Duration, of float64) time.Duration { return time.Duration(float64(d) * of) }

// between draws a time from one on, at most another.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	if to <= from {
		return to
	}
	return from + time.Duration(r.Int64N(int64(to-from)))
}
