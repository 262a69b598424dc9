package httpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"
)

// StaticToken knows one token of the configuration and asks next for all others. Only its hash is kept. next may be nil
// only if the wiring refuses other tokens itself.
func StaticToken(token string, p Principal, next Authenticator) Authenticator {
	known := sha256.Sum256([]byte(token))
	return func(ctx context.Context, given string) (Principal, error) {
		hash := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(known[:], hash[:]) == 1 {
			return p, nil
		}
		return next(ctx, given)
	}
}

// The bounds of what Remember keeps.
const (
	rememberedTokens = 1024
	rememberedFor    = 30 * time.Second // how long a deleted token may go on working at a worker
)

// Remember keeps what next said of a token for a while: a worker asks the coordinator, and each ingest request has a
// token. Refusals are not kept.
func Remember(next Authenticator) Authenticator {
	m := memory{known: map[[sha256.Size]byte]remembered{}}
	return func(ctx context.Context, token string) (Principal, error) {
		hash := sha256.Sum256([]byte(token))
		if p, ok := m.get(hash, time.Now()); ok {
			return p, nil
		}
		p, err := next(ctx, token)
		if err == nil {
			m.put(hash, p, time.Now())
		}
		return p, err
	}
}

type remembered struct {
	principal Principal
	until     time.Time
}

type memory struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]remembered
}

func (m *memory) get(hash [sha256.Size]byte, now time.Time) (Principal, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.known[hash]
	return r.principal, ok && now.Before(r.until)
}

func (m *memory) put(hash [sha256.Size]byte, p Principal, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= rememberedTokens {
		clear(m.known) // simpler than an order of use, and asking again is cheap
	}
	m.known[hash] = remembered{p, now.Add(rememberedFor)}
}
