package control

import (
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// started is where the process's monotonic readings are counted from.
var started = time.Now()

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the wall clock, for labels.
func (SystemClock) Now() time.Time { return time.Now().UTC() }

// Mono returns the monotonic clock. It starts at an hour, so that no time of a process is before "long ago".
func (SystemClock) Mono() ident.MonoMs {
	const longAgo = time.Hour
	return ident.MonoMs((time.Since(started) + longAgo).Milliseconds())
}
