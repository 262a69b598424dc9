package httpserver

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which nothing has been asked yet. http.Server.Shutdown waits five seconds for each, since
// a request might be on its way; a client's pool opens such connections ahead of need, so that without this a
// service whose last client was busy would not close in time. What had been sent on one meets a closed connection, as it would
// a moment later.
type silent struct {
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	closing bool
}

// note is the server's ConnState hook.
func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.closing:
		_ = c.Close() // nobody listens for how it ends
	default:
		if s.conns == nil {
			s.conns = map[net.Conn]struct{}{}
		}
		s.conns[c] = struct{}{}
	}
}

// end closes them, and those that are still to come.
func (s *silent) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for c := range s.conns {
		_ = c.Close()
	}
}
