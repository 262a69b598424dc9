package offsets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/telemetry"
)

// Pauses between attempts: they are for people and their tools, who look every few seconds.
const (
	pauseFirst = time.Second
	pauseMost  = time.Minute
)

// Group is a consumer group's offsets of a topic (*kafka.GroupOffsets).
type Group interface {
	Raise(ctx context.Context, to kafka.Offsets) error
	Close()
}

// Config is what a Publisher is made with.
type Config struct {
	// Open takes the offsets of a topic over from whoever held them before.
	Open func(ctx context.Context, topic string) (Group, error)
	// Current returns nil when the stage is still the stream's, and wraps pgtable.ErrFenced when it is not.
	Current func(ctx context.Context) error
	Log     *slog.Logger
}

// Publisher publishes the positions of one source task, the newest last.
type Publisher struct {
	cfg    Config
	notice chan struct{} // has an element when there is something new

	mu     sync.Mutex
	newest *positions // not published yet; nil: none
}

// positions of a source task, all in one topic.
type positions struct {
	topic string
	next  kafka.Offsets
}

// New returns a Publisher; Run lets it work.
func New(cfg Config) *Publisher { return &Publisher{cfg: cfg, notice: make(chan struct{}, 1)} }

// Publish takes the positions of a complete checkpoint. It does not block.
func (p *Publisher) Publish(partitions []manifest.Partition) {
	if len(partitions) == 0 {
		return
	}
	to := &positions{topic: partitions[0].Topic, next: kafka.Offsets{}}
	for _, x := range partitions {
		to.next[x.Partition] = x.Next
	}
	p.mu.Lock()
	p.newest = to
	p.mu.Unlock()
	select {
	case p.notice <- struct{}{}:
	default: // it looks at the newest when it comes to it
	}
}

func (p *Publisher) take() *positions {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := p.newest
	p.newest = nil
	return to
}

// Run publishes until the context ends, or a later stage publishes.
func (p *Publisher) Run(ctx context.Context) {
	var g Group
	defer func() {
		if g != nil {
			g.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.notice:
		}
		to, pause := p.take(), pauseFirst
		for to != nil {
			var err error
			if g, err = p.raise(ctx, g, to); err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, pgtable.ErrFenced) {
				p.cfg.Log.Info("a later stage publishes the source offsets", telemetry.KeyError, err)
				return
			}
			p.cfg.Log.Warn("the source offsets are not published yet; tried again", telemetry.KeyError, err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, pauseMost)
			if newer := p.take(); newer != nil {
				to = newer
			}
		}
	}
}

// raise publishes by g, which is opened first where it is nil. It returns what the next attempt goes on with.
func (p *Publisher) raise(ctx context.Context, g Group, to *positions) (Group, error) {
	if g == nil {
		if err := p.cfg.Current(ctx); err != nil {
			return nil, err
		}
		var err error
		if g, err = p.cfg.Open(ctx, to.topic); err != nil {
			return nil, err
		}
	}
	if err := g.Raise(ctx, to.next); err != nil {
		g.Close() // it is of no use after an error; if it is fenced, Current says whether by a later stage
		return nil, err
	}
	return g, nil
}

// ID is the transactional id under which a source task publishes its positions for a group.
func ID(group string, vg ident.VGroup) string { return fmt.Sprintf("%s.%d", group, vg) }
