package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/pondage/pondage/services/worker/internal/live"
)

// The pauses between two attempts to reach another node.
const (
	askAgainFirst = 200 * time.Millisecond
	askAgainMost  = 5 * time.Second
)

// remote tells the results that another node has of a stream.
type remote struct {
	peers   Peers
	log     *slog.Logger
	address string
	stream  string
	filter  string
}

// run tells everything behind the position until the context ends or tell returns an error. A node that goes away is
// asked again from the last event on.
func (r *remote) run(ctx context.Context, after *live.Position, tell func(event) error) error {
	id := ""
	if after != nil {
		id = after.String()
	}
	var told error
	for pause := askAgainFirst; ; {
		err := r.follow(ctx, id, func(e event) error {
			id, pause = e.at.String(), askAgainFirst
			told = tell(e)
			return told
		})
		switch {
		case told != nil:
			return told
		case ctx.Err() != nil:
			return ctx.Err()
		}
		r.log.Debug("a node with results of a stream does not answer; it is asked again", "stream", r.stream, "address", r.address, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, askAgainMost)
	}
}

// follow asks once and tells what comes.
func (r *remote) follow(ctx context.Context, after string, tell func(event) error) error {
	body, err := r.peers.Live(ctx, r.address, r.stream, r.filter, after)
	if err != nil {
		return err
	}
	defer body.Close()
	return readEvents(body, tell)
}
