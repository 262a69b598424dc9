package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pondage/pondage/examples/flights"
	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/batch"
	"github.com/pondage/pondage/internal/batch/landed"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/devstack/scratch"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
)

const (
	// partitions of the source topic.
	partitions = 4
	// finishWithin bounds the streams' run. It takes seconds; longer means that something stands still.
	finishWithin = 2 * time.Minute
	// requestRecords is how many records go with one request to ingest, ingestPatience how long one is repeated.
	requestRecords = 20_000
	ingestPatience = 30 * time.Second
	// pollEvery is how often the streams are asked, and a line of progress written: the run is short.
	pollEvery = 500 * time.Millisecond
	// sampleRows is how many results of each stream are shown.
	sampleRows = 3
)

// demo is one run.
type demo struct {
	out      io.Writer
	progress progress
	stack    *scratch.Stack
	api      *client.Client
	examples []example
}

// run is the whole demo. The stack and its directory are gone afterwards.
func (d *demo) run(ctx context.Context, keep bool) (err error) {
	if d.examples, err = examples(); err != nil {
		return err
	}
	d.progress.say("starting broker, Postgres, coordinator and node")
	if d.stack, err = scratch.Start(ctx, "demo", nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stack.Stop()) }()
	if d.api, err = client.New(config.Client{API: d.stack.URL()}); err != nil {
		return err
	}
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.declare(ctx); err != nil {
		return err
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	equal, err := d.judge(ctx)
	if err != nil {
		return err
	}
	if keep {
		d.explain()
		<-ctx.Done()
	}
	if !equal {
		return errDifferent
	}
	return nil
}

// load declares the source and sends the records.
func (d *demo) load(ctx context.Context) error {
	text, err := flights.Files.ReadFile(flights.Source)
	if err != nil {
		return err
	}
	source, err := spec.ParseSource(text)
	if err != nil {
		return err
	}
	kafkas, err := kafka.Open(kafka.Config{Brokers: d.stack.Brokers()})
	if err != nil {
		return err
	}
	defer kafkas.Close()
	if _, err := kafkas.CreateTopic(ctx, kafka.TopicSpec{Name: source.Kafka.Topic, Partitions: partitions}); err != nil {
		return err
	}
	if err := d.create("source", source.Name, source.Canonical(), func(body io.Reader) error {
		_, _, err := client.Read(d.api.CreateSourceWithBody(ctx, &coordinator.CreateSourceParams{}, contentJSON, body))
		return err
	}); err != nil {
		return err
	}
	records, err := flights.Files.ReadFile(flights.Records)
	if err != nil {
		return err
	}
	batches, err := ingest.NewBatches(bytes.NewReader(records), requestRecords)
	if err != nil {
		return err
	}
	sent, err := ingest.Send(ctx, batches, ingest.Config{
		HTTP: d.api.HTTP, Key: client.NewKey(), Patience: ingestPatience,
		Worker: func(ctx context.Context) (string, error) { return d.api.IngestURL(ctx, source.Name) },
	})
	if err != nil {
		return fmt.Errorf("send the records: %w", err)
	}
	d.progress.say("%s records are in Kafka topic %s (%s records/s through POST /v1/ingest/%s)",
		grouped(sent.Records), source.Kafka.Topic, grouped(int64(float64(sent.Records)/sent.Elapsed.Seconds())), source.Name)
	return nil
}

const contentJSON = "application/json"

// create posts a spec.
func (d *demo) create(kind, name string, spec []byte, post func(body io.Reader) error) error {
	if err := post(bytes.NewReader(spec)); err != nil {
		return fmt.Errorf("create %s %s: %w", kind, name, err)
	}
	d.progress.say("created %s %s", kind, name)
	return nil
}

// declare creates the streams.
func (d *demo) declare(ctx context.Context) error {
	for _, e := range d.examples {
		text, err := flights.Files.ReadFile(e.file)
		if err != nil {
			return err
		}
		stream, err := spec.ParseStream(text)
		if err != nil {
			return fmt.Errorf("%s: %w", e.file, err)
		}
		if err := d.create("stream", stream.Name+": "+e.says, stream.Canonical(), func(body io.Reader) error {
			_, _, err := client.Read(d.api.CreateStreamWithBody(ctx, &coordinator.CreateStreamParams{}, contentJSON, body))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// judge compares every output of every stream with the batch computation, and tells whether all are equal.
func (d *demo) judge(ctx context.Context) (bool, error) {
	d.progress.say("computing the same answers in one batch, and reading Postgres, Kafka and the HTTP results")
	answers, err := d.compute()
	if err != nil {
		return false, err
	}
	equal := true
	var lines []string
	for i, e := range d.examples {
		c, err := d.compare(ctx, e, answers[i])
		if err != nil {
			return false, err
		}
		for _, difference := range c.First {
			d.progress.say("%s: %s", e.name, difference)
		}
		equal = equal && c.Different == 0
		lines = append(lines, fmt.Sprintf("demo: %s %d windows equal, %d different", e.name, c.Equal, c.Different))
	}
	if err := d.samples(ctx); err != nil {
		return false, err
	}
	for _, line := range lines {
		fmt.Fprintln(d.out, line)
	}
	return equal, nil
}

// compute is the independent batch computation.
func (d *demo) compute() ([]*batch.Rows, error) {
	packed, err := flights.Files.Open(flights.Records)
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }() // read only
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	queries := make([]*batch.Query, len(d.examples))
	for i := range d.examples {
		queries[i] = &d.examples[i].query
	}
	return batch.Compute(plain, queries...)
}

func (d *demo) compare(ctx context.Context, e example, answer *batch.Rows) (batch.Comparison, error) {
	columns := e.query.Columns
	inPostgres, err := landed.Postgres(ctx, d.stack.DSN(), e.name, columns)
	if err != nil {
		return batch.Comparison{}, err
	}
	inKafka, err := landed.Kafka(ctx, d.stack.Brokers(), e.name, columns)
	if err != nil {
		return batch.Comparison{}, err
	}
	overHTTP, err := landed.HTTP(ctx, d.api.HTTP, d.stack.URL(), e.name, columns)
	if err != nil {
		return batch.Comparison{}, err
	}
	return batch.Compare(answer, batch.Output{Name: "postgres", Rows: inPostgres}, batch.Output{Name: "kafka", Rows: inKafka}, batch.Output{Name: "http", Rows: overHTTP}), nil
}
