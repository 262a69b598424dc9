package watermark

import (
	"math"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

const (
	// TickEvery is how often a shell must tick. Half of TellWithin, so that a notice due just after a tick keeps it.
	TickEvery = 100 * time.Millisecond
	// TellWithin is after how long without data a destination gets a watermark block (DESIGN §6).
	TellWithin = 200 * time.Millisecond
	// DefaultDelay is how far a partition's watermark stays behind its highest event time (DESIGN §6).
	DefaultDelay = 2 * time.Second
	// IdleMargin is the default idle timeout, and what it exceeds the delay by at least: a partition must not be called
	// silent for a pause that its delay says is usual (DESIGN §6).
	IdleMargin = 5 * time.Second
	// DefaultCloseIdleAfter is how far the clock that moves an idle watermark lags behind (DESIGN §6).
	DefaultCloseIdleAfter = 30 * time.Second
	// DefaultTableTTL is the allowed lateness of a row that is ahead of its own table (DESIGN §8).
	DefaultTableTTL = 24 * time.Hour
	// Unbounded, as an allowed lateness, lets no row be late.
	Unbounded = time.Duration(math.MaxInt64)
)

// LateBy says what a row is compared with.
type LateBy uint8

// The rules of DESIGN §8.
const (
	LateByWindow LateBy = iota // late when its windows are behind the watermark
	LateByTable                // and only if it is not ahead of its own table either
)

// SourceConfig is what a source task knows from its plan and placement.
type SourceConfig struct {
	// Destinations are the tasks that the edge leads to; none when the output is chained.
	Destinations []ident.Task
	// Delay is the stream's `watermark`: W_p = highest event time − Delay.
	Delay time.Duration
	// AllowedLateness is added to the end of a window; Unbounded: nothing is late.
	AllowedLateness time.Duration
	LateBy          LateBy
	// TableTTL is for LateByTable; DefaultTableTTL when 0.
	TableTTL time.Duration
	// WindowSpan is the longest distance from a row to the end of its last window: the size of fixed windows, the gap of
	// sessions. For LateByTable, see tableClocks.
	WindowSpan time.Duration
	// IdleTimeout of 0 is the default; values below Delay + IdleMargin are raised to it.
	IdleTimeout time.Duration
	// NextEnd returns the lowest possible window end (or pending timer) above the given time; nil when the stream has no
	// windows. A watermark that passes one goes to every destination at once.
	NextEnd func(after ident.EventMs) ident.EventMs
	// Restored is the state of the checkpoint that the stage starts from; nil: none. Its partitions still have to be Added.
	Restored *SourceState
}

// MergeConfig is what a downstream task knows from its plan and placement.
type MergeConfig struct {
	Upstreams []ident.Task
	// Destinations are the tasks of the next edge; none when the output is chained.
	Destinations []ident.Task
	// Windows is Windowless for a task that closes nothing: it passes questions on.
	Windows Windows
	// CloseIdleAfter of 0 switches the closing by silence off.
	CloseIdleAfter time.Duration
	// NextEnd as in SourceConfig, for the windows of the tasks behind; used with Destinations only.
	NextEnd func(after ident.EventMs) ident.EventMs
	// Restored is the state of the checkpoint that the stage starts from; nil: none.
	Restored *MergeState
}

// Windows says whether a task closes windows.
type Windows uint8

// The two kinds of task.
const (
	Windowed Windows = iota
	Windowless
)

// millis is d in milliseconds of event or monotonic time; Unbounded stays without bound.
func millis(d time.Duration) int64 {
	if d == Unbounded {
		return math.MaxInt64
	}
	return d.Milliseconds()
}

// minus is t − d without wrapping; d ≥ 0.
func minus(t, d int64) int64 {
	if t < math.MinInt64+d {
		return math.MinInt64
	}
	return t - d
}

// plus is t + d without wrapping; d ≥ 0.
func plus(t, d int64) int64 {
	if t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}
