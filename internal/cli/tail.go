package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/problem"
)

func (a *app) tail() *cobra.Command {
	var filter, after string
	cmd := &cobra.Command{
		Use: "tail STREAM", Short: "Follow the results of a stream as they come", Args: cobra.ExactArgs(1),
		Long: `Shows the results from now on, until the stream has ended or the command is interrupted. A connection that breaks is made
again, and goes on behind the last result that was shown; results that are no longer kept by then are told on standard
error, and "pondage results" has them. With -o json each result is a line.`,
		Example: "  pondage tail flights_1h\n  pondage tail flights_1h --filter \"origin = 'LAX'\" -o json",
	}
	cmd.Flags().StringVar(&filter, "filter", "", "condition over the result columns, as in WHERE")
	cmd.Flags().StringVar(&after, "after", "", "go on behind the event with this `id`, an earlier run's last one")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		t := &follower{app: a, c: c, f: f, stream: args[0], last: after, rows: render.NewRows(a.Out, a.Width)}
		if filter != "" {
			t.filter = &filter
		}
		err := t.run(cmd.Context())
		if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
			return nil // interrupting it is the way to end it
		}
		return err
	}, render.Table, render.JSON, render.YAML, render.NDJSON)
}

// follower follows a stream's live results over any number of connections.
type follower struct {
	*app
	c      *client.Client
	f      render.Format
	stream string
	filter *string
	last   string // id of the last event; "" before the first
	began  bool   // an event has come: the stream was there
	rows   *render.Rows
}

// reconnectPause is the pause before a connection is made again.
const reconnectPause = time.Second

func (t *follower) run(ctx context.Context) error {
	for {
		err := t.connection(ctx)
		if t.dropped(err) {
			return nil
		}
		var answered *client.Error
		if errors.As(err, &answered) && !answered.Doc.Retryable || ctx.Err() != nil {
			return err
		}
		if ended, err := t.ended(ctx); ended || err != nil {
			if t.dropped(err) {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnectPause):
		}
	}
}

// ended tells whether there will be no more results. A coordinator that does not answer is no reason to end.
func (t *follower) ended(ctx context.Context) (bool, error) {
	s, _, err := client.Decode[api.Stream](t.c.GetStream(ctx, t.stream))
	var answered *client.Error
	if errors.As(err, &answered) && !answered.Doc.Retryable {
		return true, err
	}
	if err != nil || !slices.Contains([]string{"finished", "stopped", "failed"}, s.State) {
		return false, nil
	}
	fmt.Fprintf(t.Err, "stream %s is %s\n", t.stream, s.State)
	return true, nil
}

// dropped tells whether the stream that was followed is not there any more: that ends it like any other end.
func (t *follower) dropped(err error) bool {
	var answered *client.Error
	if !t.began || !errors.As(err, &answered) || answered.Doc.Code != problem.CodeStreamUnknown {
		return false
	}
	fmt.Fprintf(t.Err, "stream %s was dropped\n", t.stream)
	return true
}

// connection shows the events of one connection until it ends.
func (t *follower) connection(ctx context.Context) error {
	params := &api.GetLiveResultsParams{Filter: t.filter}
	if t.last != "" {
		params.LastEventID = &t.last
	}
	answer, err := client.Open(t.c.GetLiveResults(ctx, t.stream, params, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/event-stream")
		return nil
	}))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	events := client.NewEvents(answer.Body)
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t.began = true
		if err := t.event(event); err != nil {
			return err
		}
		if event.ID != "" {
			t.last = event.ID
		}
	}
}

func (t *follower) event(e client.Event) error {
	switch e.Name {
	case "stage": // the first event: from here on nothing is missed
		fmt.Fprintf(t.Err, "following %s\n", t.stream)
	case "row":
		return t.row([]byte(e.Data))
	case "gap":
		var gap struct {
			Lost *string `json:"lost"`
		}
		if err := json.Unmarshal([]byte(e.Data), &gap); err != nil {
			return fmt.Errorf("live event gap: %w", err)
		}
		lost := "some results are"
		switch {
		case gap.Lost == nil:
		case *gap.Lost == "1":
			lost = "1 result is"
		default:
			lost = *gap.Lost + " results are"
		}
		fmt.Fprintf(t.Err, "%s no longer kept; see: pondage results %s\n", lost, t.stream)
	}
	return nil
}

func (t *follower) row(data []byte) error {
	var event struct {
		Row json.RawMessage `json:"row"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("live event row: %w", err)
	}
	switch t.f {
	case render.Table:
		if err := t.rows.Add(event.Row); err != nil {
			return err
		}
		return t.rows.Flush()
	case render.YAML:
		fmt.Fprintln(t.Out, "---") // a document a row
	}
	return render.Value(t.Out, t.f, event.Row)
}
