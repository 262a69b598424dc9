package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/cli/specfile"
)

const (
	// batchRecords bounds a batch: beyond, the share of the request in its cost is nothing.
	batchRecords = 20_000
	// pacedBatches is how many batches a second are sent with --rate, so that it is a flow and no bursts.
	pacedBatches = 10
	// patienceDefault is how long a batch is repeated where nothing is said: longer than a restart of a worker.
	patienceDefault = 2 * time.Minute
)

func (a *app) ingest() *cobra.Command {
	var rate float64
	patience := patienceDefault
	cmd := &cobra.Command{
		Use: "ingest SOURCE FILE|-", Short: "Send the records of a file to a source", Args: cobra.ExactArgs(2),
		Long: `Sends records, one JSON object a line or one JSON array of them, in their order; .gz files are unpacked. It is done when
Kafka has all of them. A batch is repeated while a worker is busy or away, with its idempotency key, so that no record is
read twice. The table name, the event time and the columns are the source's matter: a line is taken as it is.`,
		Example: `  pondage ingest flights examples/flights/flights.ndjson.gz
  generate-records | pondage ingest flights -
  pondage ingest flights flights.ndjson --rate 1000`,
	}
	cmd.Flags().Float64Var(&rate, "rate", 0, "most `records` a second; 0 is as fast as they are taken")
	cmd.Flags().DurationVar(&patience, "patience", patience, "how long a batch is repeated without success")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		in, size, err := a.open(args[1])
		if err != nil {
			return err
		}
		defer in.Close()
		read := &counted{Reader: in}
		most := batchRecords
		if rate > 0 {
			most = max(min(batchRecords, int(rate/pacedBatches)), 1)
		}
		batches, err := ingest.NewBatches(read, most)
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		m := &meter{app: a, size: size, read: read}
		done, err := ingest.Send(cmd.Context(), batches, ingest.Config{
			HTTP: c.HTTP, Key: client.NewKey(), Rate: rate, Patience: patience, Progress: m.show,
			Worker: func(ctx context.Context) (string, error) { return c.IngestURL(ctx, args[0]) },
		})
		m.end()
		if err != nil {
			return failedAfter(done, err)
		}
		return a.sent(f, args[0], done)
	})
}

// failedAfter adds how far it came, so that one knows what to send again.
func failedAfter(done ingest.Progress, err error) error {
	if done.Records == 0 {
		return err
	}
	var answered *client.Error
	if !errors.As(err, &answered) {
		return fmt.Errorf("%w; %s", err, areIn(done.Records))
	}
	told := *answered
	told.Doc.Detail = fmt.Sprintf("%s; %s", told.Doc.Detail, areIn(done.Records))
	return &told
}

func areIn(n int64) string {
	if n == 1 {
		return "the first record is in"
	}
	return "the first " + render.Count(n, "record") + " are in"
}

// open opens an input; its size is 0 where it is not known.
func (a *app) open(path string) (io.ReadCloser, int64, error) {
	if path == specfile.Stdin {
		return io.NopCloser(a.In), 0, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file, 0, nil // a pipe has no size
	}
	return file, info.Size(), nil
}

// counted counts what is read of an input, packed as it is. The count is read by another goroutine.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// sent tells what was done.
func (a *app) sent(f render.Format, source string, p ingest.Progress) error {
	rate := perSecond(p.Records, p.Elapsed)
	raw, err := json.Marshal(struct {
		Source           string  `json:"source"`
		Records          int64   `json:"records"`
		Bytes            int64   `json:"bytes"`
		Batches          int64   `json:"batches"`
		Retries          int64   `json:"retries"`
		Seconds          float64 `json:"seconds"`
		RecordsPerSecond float64 `json:"records_per_second"`
	}{source, p.Records, p.Bytes, p.Batches, p.Retries, p.Elapsed.Seconds(), rate})
	if err != nil {
		return err
	}
	return a.show(f, raw, func() error {
		_, err := fmt.Fprintf(a.Out, "%s sent to %s in %s (%s records/s, %s)\n",
			render.Count(p.Records, "record"), source, p.Elapsed.Round(time.Millisecond), render.Number(int64(rate)), size(p.Bytes))
		return err
	})
}
