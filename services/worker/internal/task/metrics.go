package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
)

// Metrics are the instruments of all tasks of a node.
type Metrics struct {
	records, bytes, flushes           metric.Int64Counter
	sent, sentBytes, received, passed metric.Int64Counter
	rows, ended                       metric.Int64Counter
}

// NewMetrics makes the instruments.
func NewMetrics(p metric.MeterProvider) (*Metrics, error) {
	m := p.Meter("github.com/pondage/pondage/services/worker/internal/task")
	var out Metrics
	var errs [9]error
	out.records, errs[0] = m.Int64Counter("pondage.source.records", metric.WithUnit("{record}"),
		metric.WithDescription("Records that source tasks have processed, by what became of them: counted, filtered, no_window, late, dead_lettered."))
	out.bytes, errs[1] = m.Int64Counter("pondage.source.fetched", metric.WithUnit("By"),
		metric.WithDescription("Record batches that source tasks have processed, as fetched."))
	out.flushes, errs[2] = m.Int64Counter("pondage.source.flushes", metric.WithUnit("{flush}"),
		metric.WithDescription("Flushes of pre-aggregated or projected rows."))
	out.sent, errs[3] = m.Int64Counter("pondage.edge.sent.blocks", metric.WithUnit("{block}"),
		metric.WithDescription("Blocks of rows that the brokers have acknowledged."))
	out.sentBytes, errs[4] = m.Int64Counter("pondage.edge.sent", metric.WithUnit("By"), metric.WithDescription("Blocks of rows that the brokers have acknowledged, in bytes of their values."))
	out.received, errs[5] = m.Int64Counter("pondage.edge.received.blocks", metric.WithUnit("{block}"),
		metric.WithDescription("Messages that receiving tasks have read from their edge partition."))
	out.passed, errs[6] = m.Int64Counter("pondage.edge.received", metric.WithUnit("By"), metric.WithDescription("Messages that receiving tasks have read, in bytes of their values."))
	out.rows, errs[7] = m.Int64Counter("pondage.result.rows", metric.WithUnit("{row}"), metric.WithDescription("Result rows handed to the outputs."))
	out.ended, errs[8] = m.Int64Counter("pondage.task.ended", metric.WithUnit("{task}"),
		metric.WithDescription("Tasks that have ended by themselves, by outcome: finished, failed, reset, superseded."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("task metrics: %w", err)
	}
	return &out, nil
}

// meter is the instruments of one task, with its attributes made once.
type meter struct {
	*Metrics
	attrs    []attribute.KeyValue
	task     []metric.AddOption
	outcomes [5][]metric.AddOption // in the order of outcomes
}

var outcomes = [...]string{"counted", "filtered", "no_window", "late", "dead_lettered"}

func (m *Metrics) of(stream string, t ident.Task) *meter {
	attrs := []attribute.KeyValue{
		telemetry.Stream.String(stream), telemetry.Level.String(t.Level.String()), telemetry.VGroup.String(strconv.Itoa(int(t.VGroup))),
	}
	out := &meter{Metrics: m, attrs: attrs, task: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}}
	for i, outcome := range outcomes {
		set := attribute.NewSet(append(attrs, telemetry.Outcome.String(outcome))...)
		out.outcomes[i] = []metric.AddOption{metric.WithAttributeSet(set)}
	}
	return out
}

// processed counts the records of a chunk by what became of them.
func (m *meter) processed(ctx context.Context, before, after Counters, bytes int) {
	m.bytes.Add(ctx, int64(bytes), m.task...)
	for i, n := range [...]int64{
		after.Counted - before.Counted, after.Filtered - before.Filtered, after.NoWindow - before.NoWindow, after.Late - before.Late,
		after.DeadLettered - before.DeadLettered,
	} {
		if n != 0 {
			m.records.Add(ctx, n, m.outcomes[i]...)
		}
	}
}

func (m *meter) flushed(ctx context.Context) { m.flushes.Add(ctx, 1, m.task...) }

func (m *meter) delivered(ctx context.Context, bytes int) {
	m.sent.Add(ctx, 1, m.task...)
	m.sentBytes.Add(ctx, int64(bytes), m.task...)
}

func (m *meter) arrived(ctx context.Context, bytes int) {
	m.received.Add(ctx, 1, m.task...)
	m.passed.Add(ctx, int64(bytes), m.task...)
}

func (m *meter) results(ctx context.Context, rows int) { m.rows.Add(ctx, int64(rows), m.task...) }

// The outcomes of a task.
const (
	outcomeFinished   = "finished"
	outcomeFailed     = "failed"
	outcomeReset      = "reset"
	outcomeSuperseded = "superseded"
)

func (m *meter) end(outcome string) {
	m.ended.Add(context.Background(), 1, metric.WithAttributes(append(m.attrs[:len(m.attrs):len(m.attrs)], telemetry.Outcome.String(outcome))...))
}
