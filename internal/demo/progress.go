package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
)

// progress shows how far things are. On a terminal the line about running streams is redrawn in its place.
type progress struct {
	to     io.Writer
	redraw bool
	drawn  bool // the cursor is behind a line that may be drawn over
}

// clearLine goes to the start of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	if p.drawn {
		fmt.Fprintln(p.to)
		p.drawn = false
	}
	fmt.Fprintf(p.to, "demo: "+format+"\n", args...)
}

// tick writes the line of this second.
func (p *progress) tick(line string) {
	if !p.redraw {
		fmt.Fprintln(p.to, line)
		return
	}
	fmt.Fprint(p.to, clearLine+line)
	p.drawn = true
}

// follow shows the streams' progress until all are finished.
func (d *demo) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, finishWithin, errors.New("the streams are not finished in time"))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	begun, failed := time.Now(), d.stack.Failed()
	for {
		streams, err := d.streams(ctx)
		if err != nil {
			return err
		}
		d.progress.tick(d.line(ctx, time.Since(begun), streams))
		if done, err := finished(streams); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-failed:
			return d.stack.Err()
		case <-tick.C:
		}
	}
}

func (d *demo) streams(ctx context.Context) ([]coordinator.Stream, error) {
	var streams []coordinator.Stream
	for _, e := range d.examples {
		s, _, err := client.Decode[coordinator.Stream](d.api.GetStream(ctx, e.name))
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", e.name, err)
		}
		streams = append(streams, s)
	}
	return streams, nil
}

// The states of a stream that end the run.
const (
	stateFinished = "finished"
	stateFailed   = "failed"
)

func finished(streams []coordinator.Stream) (bool, error) {
	all := true
	for _, s := range streams {
		if s.State == stateFailed {
			return false, fmt.Errorf("stream %s has failed: %s", s.Name, cause(s))
		}
		all = all && s.State == stateFinished
	}
	return all, nil
}

// line is how far all streams are. Rates are means since the beginning: the run is too short for those of the moment.
func (d *demo) line(ctx context.Context, since time.Duration, streams []coordinator.Stream) string {
	cells := []string{fmt.Sprintf("%4.1f s", since.Seconds())}
	for i, s := range streams {
		what := "windows closed"
		if d.examples[i].query.Window == nil {
			what = "rows out"
		}
		watermark := "–"
		if w := s.Watermark; w != nil {
			watermark = w.UTC().Format("2006-01-02T15:04Z")
		} else if s.Ended {
			watermark = "end"
		}
		cells = append(cells, fmt.Sprintf("%s %s %s/s, watermark %s, %s %s, lag %s",
			s.Name, s.State, grouped(int64(float64(s.Counters.Accepted)/since.Seconds())), watermark, d.written(ctx, s.Name), what, grouped(int64(s.Lag))))
	}
	return strings.Join(cells, " · ")
}

// written is how many rows the stream's table has; the table may not be there yet.
func (d *demo) written(ctx context.Context, table string) string {
	conn, err := pgx.Connect(ctx, d.stack.DSN())
	if err != nil {
		return "?"
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var n int64
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
		return "0"
	}
	return grouped(n)
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
