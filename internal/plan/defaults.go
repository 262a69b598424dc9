package plan

import "time"

// The defaults of a stream's and a source's members. Each lives here only.
const (
	DefaultWatermark      = 2 * time.Second  // DESIGN §6
	DefaultIdleTimeout    = 5 * time.Second  // DESIGN §6
	DefaultCloseIdleAfter = 30 * time.Second // DESIGN §6
	DefaultTableTTL       = 24 * time.Hour   // DESIGN §8
	DefaultMaxFuture      = 24 * time.Hour   // DESIGN §6
	DefaultDedupWindow    = 10 * time.Minute // DESIGN §12
	DefaultRetain         = 7 * 24 * time.Hour
	DefaultMaxGroups      = 10_000_000 // DESIGN §12
	DefaultDispatchBatch  = 4 << 20    // bytes; DESIGN §4

	DefaultCheckpointInterval   = 10 * time.Second // DESIGN §7
	DefaultCheckpointTimeout    = 60 * time.Second // DESIGN §7
	DefaultRetainCheckpoints    = 3                // DESIGN §7
	DefaultMaxFailedCheckpoints = 3                // an alert after half a minute of failures at the default interval
	DefaultMaxRestarts          = 10               // with exponential back-off: some minutes before a stream is given up
	DefaultStartTimeout         = 60 * time.Second // DESIGN §7

	DefaultWebhookTimeout = 10 * time.Second
	DefaultWebhookEvents  = 100 // of a request

	// minIdleBeyondDelay is how much longer than the watermark delay a silence must be to count as idle: a partition
	// that is merely behind by its delay is not silent.
	minIdleBeyondDelay = 5 * time.Second // DESIGN §6
)
