package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/pondage/pondage/internal/lifecycle"
)

// Time-outs of the listener. What an operation may take is in the document.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// closeTime is how long running requests may go on when the service stops; live results end at once.
	closeTime = 5 * time.Second
)

// closingKey finds the context that ends when the listener begins to close: answers without a deadline end with it, so
// that closing need not wait for their readers; all others may finish.
type closingKey struct{}

// Listener serves a handler as a lifecycle.Service. A port in use fails the start, by name.
type Listener struct {
	handler  http.Handler
	logger   *slog.Logger
	listener net.Listener
	server   *http.Server
}

// Listen opens the address. Doing so is apart from serving, so that a service can tell others its port before it is
// ready.
func Listen(addr string, handler http.Handler, logger *slog.Logger) (*Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return &Listener{handler: handler, logger: logger, listener: l}, nil
}

// Addr is the address that is listened on.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }

// Service returns the service that serves until it is stopped.
func (l *Listener) Service(name string) *lifecycle.Service {
	closing, endLive := context.WithCancel(context.Background())
	var unasked silent
	l.server = &http.Server{
		Handler: l.handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), closingKey{}, closing)
		},
		ConnState: unasked.note,
		ErrorLog:  slog.NewLogLogger(l.logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	return lifecycle.NewService(name, lifecycle.Parts{
		Start: func(context.Context) error {
			go func() { served <- l.server.Serve(l.listener) }()
			return nil
		},
		Run: func(ctx context.Context) error {
			select {
			case err := <-served:
				return fmt.Errorf("serve on %s: %w", l.Addr(), err)
			case <-ctx.Done():
				return nil
			}
		},
		Stop: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), closeTime)
			defer cancel()
			endLive()
			unasked.end()
			if err := l.server.Shutdown(ctx); err != nil {
				return errors.Join(err, l.server.Close())
			}
			return nil
		},
	})
}
