package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/services/worker/internal/live"
)

// feedPoll is how often a feed that is not there yet is looked for.
const feedPoll = 200 * time.Millisecond

// follower tells the results that this node has of a stream.
type follower struct {
	feeds   Feeds
	stream  ident.StreamID
	encoder *rowjson.Encoder
	filter  *expr.Program // nil: none
	sel     []int32
	scratch expr.Result
}

func newFollower(feeds Feeds, stream ident.StreamID, columns block.Schema, filter *expr.Typed) *follower {
	f := &follower{feeds: feeds, stream: stream, encoder: rowjson.NewEncoder(columns)}
	if filter != nil {
		f.filter = expr.Compile(filter)
	}
	return f
}

// run tells everything behind the position until the context ends or tell returns an error. Without one it begins with
// what comes now. Each feed begins with a stage event.
func (f *follower) run(ctx context.Context, after *live.Position, tell func(event) error) error {
	var least ident.Stage
	if after != nil {
		least = after.Stage
	}
	for {
		feed, err := f.await(ctx, least)
		if err != nil {
			return err
		}
		at := feed.End()
		least = at.Stage + 1
		if after != nil {
			at = clone(*after) // others go on from the same place
		}
		if err := f.follow(ctx, feed, at, tell); err != nil {
			return err
		}
		// The next stage is told from its beginning: what it has made before this watcher found it is wanted too.
		after = &live.Position{Stage: least, Next: make([]uint64, len(at.Next))}
	}
}

// await returns the stream's feed once it has one of the stage or a later one.
func (f *follower) await(ctx context.Context, least ident.Stage) (*live.Feed, error) {
	tick := time.NewTicker(feedPoll)
	defer tick.Stop()
	for {
		if feed := f.feeds.Feed(f.stream); feed != nil && feed.End().Stage >= least {
			return feed, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// follow tells what a feed has behind the position until the feed ends.
func (f *follower) follow(ctx context.Context, feed *live.Feed, at live.Position, tell func(event) error) error {
	if stage := feed.End().Stage; at.Stage < stage && allZero(at.Next) {
		at = live.Position{Stage: stage, Next: make([]uint64, len(feed.End().Next))} // a stage was passed over meanwhile
	}
	begun := false
	var committed ident.CheckpointID
	for {
		ended := feed.Closed() // asked before reading: nothing is published behind it
		rows, lost, more := feed.Read(&at)
		before := rewind(at, rows)
		if !begun {
			begun = true
			if err := tell(stageEvent(before)); err != nil {
				return err
			}
		}
		if lost != 0 {
			if err := tell(gapEvent(before, lost)); err != nil {
				return err
			}
		}
		for _, r := range rows {
			if err := f.rows(r, &before, tell); err != nil {
				return err
			}
		}
		if c := feed.Completed(); c > committed {
			committed = c
			if err := tell(committedEvent(before, c)); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}

func allZero(next []uint64) bool {
	for _, n := range next {
		if n != 0 {
			return false
		}
	}
	return true
}

// rewind returns the position before the rows that led to the given one.
func rewind(at live.Position, rows []live.Rows) live.Position {
	before := clone(at)
	for _, r := range rows {
		before.Next[r.VGroup] -= uint64(r.To - r.From)
	}
	return before
}

func clone(p live.Position) live.Position {
	return live.Position{Stage: p.Stage, Next: append([]uint64(nil), p.Next...)}
}

// rows tells the rows of a run that the filter takes, and moves the position over all of them.
func (f *follower) rows(r live.Rows, at *live.Position, tell func(event) error) error {
	first := at.Next[r.VGroup]
	at.Next[r.VGroup] += uint64(r.To - r.From)
	f.sel = f.sel[:0]
	if f.filter == nil {
		for i := r.From; i < r.To; i++ {
			f.sel = append(f.sel, int32(i))
		}
	} else {
		f.sel = f.filter.Filter(r.Batch.Cols, r.Batch.Rows(), f.sel, &f.scratch)
	}
	for _, i := range f.sel {
		if int(i) < r.From || int(i) >= r.To {
			continue
		}
		e := event{kind: kindRow, at: clone(*at)}
		e.at.Next[r.VGroup] = first + uint64(int(i)-r.From) + 1
		e.data = append(f.encoder.AppendRow(fmt.Appendf(nil, `{"cp":"%d","row":`, r.After), r.Batch.Cols, int(i)), '}')
		if err := tell(e); err != nil {
			return err
		}
	}
	return nil
}
