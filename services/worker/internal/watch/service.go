package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/live"
	"github.com/pondage/pondage/services/worker/internal/results"
)

// Streams finds streams by name (*catalog.Catalog).
type Streams interface {
	Stream(ctx context.Context, name string) (*catalog.Stream, error)
}

// Feeds are the live results of this node; nil where it has none of a stream.
type Feeds interface {
	Feed(id ident.StreamID) *live.Feed
}

// Peers asks other nodes (*peers.Peers).
type Peers interface {
	Live(ctx context.Context, address, stream, filter, after string) (io.ReadCloser, error)
}

const (
	// heartbeatEvery is how often a comment is sent while there is nothing to tell.
	heartbeatEvery = 15 * time.Second
	// settleTime is how long a view waits for nodes to say where they stand.
	settleTime = 2 * time.Second
	// lookEvery is how often a view asks whether its stage is still the stream's.
	lookEvery = 2 * time.Second
	// sendBytes is what is gathered before it is written, while there is more.
	sendBytes = 64 << 10
	// maxWatches bounds those who watch at once.
	maxWatches = 256
	// retryAfter is when one more may try again.
	retryAfter = 10 * time.Second
)

// Service lets clients watch. Make it with New.
type Service struct {
	node    ident.NodeID
	streams Streams
	feeds   Feeds
	peers   Peers
	log     *slog.Logger
	places  chan struct{}
}

// New returns the service of a node.
func New(node ident.NodeID, s Streams, f Feeds, p Peers, log *slog.Logger) *Service {
	return &Service{node: node, streams: s, feeds: f, peers: p, log: log, places: make(chan struct{}, maxWatches)}
}

// watch is one client watching.
type watch struct {
	*Service
	name   string
	text   string // of the filter
	filter *expr.Typed
	after  *live.Position // nil: from now on
	to     io.Writer
	out    []byte
}

// Follow tells the results of a stream until the context ends, the stream is dropped, or the client is gone. begin is
// called once the question is known to be right, and returns where events are written.
//
// Errors, all before begin: *problem.Error with stream_unknown, overloaded; *invalid.Error for the filter;
// invalid_parameter for an id that is none.
func (s *Service) Follow(ctx context.Context, name string, p api.GetLiveResultsParams, begin func() io.Writer) error {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		e := problem.New(problem.CodeOverloaded, "%d clients are watching", maxWatches)
		e.RetryAfter = retryAfter
		return e
	}
	w := &watch{Service: s, name: name}
	stream, err := s.streams.Stream(ctx, name)
	if err != nil {
		return err
	}
	if p.Filter != nil {
		w.text = *p.Filter
		if w.filter, err = results.ParseFilter(w.text, stream.Plan.Result.Fields()); err != nil {
			return err
		}
	}
	if p.LastEventID != nil {
		at, err := live.ParsePosition(*p.LastEventID)
		if err != nil {
			return problem.New(problem.CodeInvalidParameter, "parameter Last-Event-ID: %v", err)
		}
		w.after = &at
	}
	w.to = begin()
	if p.PondageScope != nil {
		w.alone(ctx, stream)
	} else {
		w.together(ctx, stream)
	}
	return nil
}

// source tells events of one node.
type source func(ctx context.Context, after *live.Position, tell func(event) error) error

func (w *watch) own(stream *catalog.Stream) source {
	return newFollower(w.feeds, stream.ID, stream.Plan.Result.Fields(), w.filter).run
}

// heard is an event and the source that told it.
type heard struct {
	source int
	event  event
}

// alone tells what this node has.
func (w *watch) alone(ctx context.Context, stream *catalog.Stream) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan heard)
	var goroutines sync.WaitGroup
	defer goroutines.Wait()
	defer cancel()
	goroutines.Go(func() { _ = w.own(stream)(ctx, w.after, into(ctx, events, 0)) }) // it ends with the context
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case h := <-events:
			err = w.send(events, h, func(h heard) (event, verdict) { return h.event, pass })
		case <-beat.C:
			_, err = io.WriteString(w.to, heartbeat)
		}
		if err != nil {
			return
		}
	}
}

// into returns a tell that hands events to a channel.
func into(ctx context.Context, events chan<- heard, source int) func(event) error {
	return func(e event) error {
		select {
		case events <- heard{source, e}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errStageOver says that a higher stage was heard of.
var errStageOver = errors.New("the stage is over")

// send writes the event, and those that wait behind it, as judge lets them through.
func (w *watch) send(events <-chan heard, h heard, judge func(heard) (event, verdict)) error {
	w.out = w.out[:0]
	var end error
	for more := true; more; {
		e, v := judge(h)
		switch v {
		case pass:
			w.out = e.appendTo(w.out)
		case leaves:
			end = errStageOver
		case drop:
		}
		if more = end == nil && len(w.out) < sendBytes; more {
			select {
			case h = <-events:
			default:
				more = false
			}
		}
	}
	if len(w.out) > 0 {
		if _, err := w.to.Write(w.out); err != nil {
			return err
		}
	}
	return end
}
