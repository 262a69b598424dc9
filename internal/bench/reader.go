package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// reader sees results as any reader of the output would. sights is complete once it is closed.
type reader struct {
	sights []sight
	mu     sync.Mutex
	err    error
	close  func() error
}

func newReader(ctx context.Context, kc *kafka.Client, to Sink, m measurement, g *generator) (*reader, error) {
	r := &reader{}
	if to.Kind == SinkPostgres {
		return r, r.openTable(ctx, m, g)
	}
	return r, r.openTopic(ctx, kc, m.Out)
}

// openTopic reads a topic from its first record, committed ones only. A record is seen when the answer to the fetch is here.
func (r *reader) openTopic(ctx context.Context, kc *kafka.Client, topic string) error {
	ends, err := kc.Ends(ctx, topic)
	if err != nil {
		return err
	}
	fetcher := kafka.NewFetcher(kc, kafka.FetcherConfig{})
	r.close = func() error {
		fetcher.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err
	}
	for p := range ends {
		if _, err := fetcher.Subscribe(kafka.SubscribeSpec{
			Topic: topic, Partition: p, From: ident.NextOffset(0), Isolation: kafka.ReadCommitted, Inbox: kafka.InboxFunc(r.offer),
		}); err != nil {
			return errors.Join(err, r.close())
		}
	}
	return nil
}

func (r *reader) offer(c *kafka.Chunk) bool {
	seen := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	err := takeChunk(c, func(value []byte) error {
		s := sight{at: seen}
		if err := json.Unmarshal(value, &s.row); err != nil {
			return fmt.Errorf("result %q: %w", value, err)
		}
		r.sights = append(r.sights, s)
		return nil
	})
	r.err = errors.Join(r.err, err)
	return err == nil
}

// tablePoll is how often a table is looked at while results are due: the error of what is seen there. While none are due
// nobody asks.
const tablePoll = 5 * time.Millisecond

// openTable looks at a table from the moment that a window is allowed until all its rows are there.
func (r *reader) openTable(ctx context.Context, m measurement, g *generator) error {
	conn, err := pgx.Connect(ctx, m.DSN)
	if err != nil {
		return fmt.Errorf("read table %s: %w", m.Out, err)
	}
	polling, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.poll(polling, conn, m.Out, g); err != nil && polling.Err() == nil {
			r.err = err
		}
	}()
	r.close = func() error {
		stop()
		<-done
		return errors.Join(r.err, conn.Close(context.WithoutCancel(ctx)))
	}
	return nil
}

// poll sees each row once, the first time that a look finds it.
func (r *reader) poll(ctx context.Context, conn *pgx.Conn, table string, g *generator) error {
	query := `SELECT device, wstart, wend, cnt, sum, avg, min, max FROM ` + pgx.Identifier{table}.Sanitize() + ` WHERE wend = $1`
	seen := map[window]bool{}
	found := map[int64]int{} // rows of an end
	full := map[int64]bool{}
	tick := time.NewTicker(tablePoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, end := range g.allowedEnds() {
			if full[end] {
				continue
			}
			var (
				x     row
				count int64
			)
			rows, err := conn.Query(ctx, query, time.UnixMilli(end))
			if err != nil {
				return err
			}
			var all []sight
			_, err = pgx.ForEachRow(rows, []any{&x.Device, &x.Start, &x.End, &count, &x.Sum, &x.Avg, &x.Min, &x.Max}, func() error {
				x.Count = strconv.FormatInt(count, 10)
				all = append(all, sight{row: x})
				return nil
			})
			if err != nil {
				return err
			}
			at := time.Now()
			for _, s := range all {
				if w := (window{device: s.row.Device, startMs: s.row.Start.UnixMilli()}); !seen[w] {
					seen[w] = true
					s.at = at
					r.sights = append(r.sights, s)
					found[end]++
				}
			}
			full[end] = found[end] > 0 && found[end] >= g.rowsOf(end)
		}
	}
}
