package watch

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/live"
)

// together tells what all nodes have, stage by stage.
func (w *watch) together(ctx context.Context, stream *catalog.Stream) {
	for {
		next, err := w.view(ctx, stream)
		if err != nil {
			return
		}
		// The new stage is told from its beginning.
		start := begin(next, stream.Plan.Env.VGroups)
		w.after = &start
		if stream, err = w.placed(ctx, stream, next); err != nil {
			return
		}
	}
}

// placed returns the stream as it is placed in the stage. The catalog may hear of it a little later than the tasks.
func (w *watch) placed(ctx context.Context, stream *catalog.Stream, stage ident.Stage) (*catalog.Stream, error) {
	tick := time.NewTicker(feedPoll)
	defer tick.Stop()
	deadline := time.Now().Add(catalog.FreshFor + settleTime)
	for {
		now, err := w.streams.Stream(ctx, w.name)
		if unknown(err) {
			return nil, err
		}
		if err == nil && now.ID == stream.ID && now.Stage >= stage {
			return now, nil
		}
		if time.Now().After(deadline) {
			return stream, nil // the coordinator is away: this node's own results and the places known are better than none
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

func unknown(err error) bool {
	var p *problem.Error
	return errors.As(err, &p) && p.Code == problem.CodeStreamUnknown
}

// sources are this node and the others with tasks of the stream.
func (w *watch) sources(stream *catalog.Stream) []source {
	out := []source{w.own(stream)}
	seen := map[ident.NodeID]bool{w.node: true}
	for _, t := range stream.Tasks {
		if !seen[t.Node] {
			seen[t.Node] = true
			r := &remote{peers: w.peers, log: w.log, address: t.Address, stream: w.name, filter: w.text}
			out = append(out, r.run)
		}
	}
	return out
}

// view tells the results of one stage. It returns the next stage, or an error when the watch is over.
func (w *watch) view(ctx context.Context, stream *catalog.Stream) (next ident.Stage, err error) {
	stage := stream.Stage
	if w.after != nil {
		stage = max(stage, w.after.Stage)
	}
	at := begin(stage, stream.Plan.Env.VGroups)
	v := &view{watch: w, stream: stream, merger: newMerger(at), begun: make(chan struct{}), events: make(chan heard)}
	var after *live.Position
	switch {
	case w.after == nil:
	case w.after.Stage == stage && len(w.after.Next) == len(at.Next):
		after, v.merger = w.after, newMerger(*w.after)
	default: // the client's place is of an older stage: what that told last is not known any more
		after, v.opening = &at, []event{gapEvent(at, lostUnknown)}
	}
	ctx, cancel := context.WithCancel(ctx)
	var goroutines sync.WaitGroup
	defer goroutines.Wait()
	defer cancel()
	sources := w.sources(stream)
	for i, run := range sources {
		goroutines.Go(func() { _ = run(ctx, after, v.tell(ctx, i)) }) // it ends with the context
	}
	if err := v.settle(ctx, len(sources)); err != nil {
		return v.next, err
	}
	return v.tellAll(ctx)
}

// view is one stage being told.
type view struct {
	*watch
	stream  *catalog.Stream
	merger  *merger
	begun   chan struct{} // closed when rows may come
	events  chan heard
	opening []event
	next    ident.Stage
}

// tell returns the tell of a source. Rows wait until the view has begun.
func (v *view) tell(ctx context.Context, source int) func(event) error {
	hand := into(ctx, v.events, source)
	return func(e event) error {
		if e.kind != kindStage {
			select {
			case <-v.begun:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return hand(e)
	}
}

// judge takes an event in, and remembers the stage that it leads to.
func (v *view) judge(h heard) (event, verdict) {
	e, what := v.merger.take(h.source, h.event)
	if what == leaves {
		v.next = h.event.at.Stage
	}
	return e, what
}

// settle waits until every source has said where it stands, for settleTime at most.
func (v *view) settle(ctx context.Context, sources int) error {
	wait := time.NewTimer(settleTime)
	defer wait.Stop()
	for len(v.merger.spoken) < sources {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			return nil
		case h := <-v.events:
			if _, what := v.judge(h); what == leaves {
				return nil // tellAll ends at once
			}
		}
	}
	return nil
}

// tellAll tells the stage, then everything of it.
func (v *view) tellAll(ctx context.Context) (ident.Stage, error) {
	if v.next > 0 {
		return v.next, nil
	}
	v.out = stageEvent(v.merger.at).appendTo(v.out[:0])
	for _, e := range v.opening {
		v.out = e.appendTo(v.out)
	}
	if _, err := v.to.Write(v.out); err != nil {
		return 0, err
	}
	close(v.begun)
	beat, look := time.NewTicker(heartbeatEvery), time.NewTicker(lookEvery)
	defer beat.Stop()
	defer look.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case h := <-v.events:
			err = v.send(v.events, h, v.judge)
			beat.Reset(heartbeatEvery)
		case <-beat.C:
			_, err = io.WriteString(v.to, heartbeat)
		case <-look.C:
			err = v.look(ctx)
		}
		if errors.Is(err, errStageOver) {
			return v.next, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// look asks the catalog whether the stage is still the stream's. A stream that was dropped ends the watch.
func (v *view) look(ctx context.Context) error {
	now, err := v.streams.Stream(ctx, v.name)
	if unknown(err) {
		return err
	}
	if err == nil && now.ID != v.stream.ID {
		return errDropped
	}
	if err == nil && now.Stage > v.merger.at.Stage {
		v.next = now.Stage
		return errStageOver
	}
	return nil // also when there is nobody to ask: the tasks go on, and so do we
}

// errDropped says that the name means another stream now.
var errDropped = errors.New("the stream was dropped")
