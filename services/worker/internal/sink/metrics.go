package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pondage/pondage/internal/telemetry"
)

// Metrics are the instruments of all outputs of a node.
type Metrics struct {
	duration metric.Float64Histogram
	rows     metric.Int64Counter
}

// NewMetrics makes the instruments.
func NewMetrics(p metric.MeterProvider) (*Metrics, error) {
	m := p.Meter("github.com/pondage/pondage/services/worker/internal/sink")
	duration, errD := m.Float64Histogram("pondage.sink.write.duration", metric.WithUnit("s"),
		metric.WithDescription("How long a write of an output took: a transaction, or handing rows to a produce queue."))
	rows, errR := m.Int64Counter("pondage.sink.rows", metric.WithUnit("{row}"), metric.WithDescription("Result rows that outputs have written."))
	if err := errors.Join(errD, errR); err != nil {
		return nil, fmt.Errorf("sink metrics: %w", err)
	}
	return &Metrics{duration: duration, rows: rows}, nil
}

// The outcomes of a write.
const (
	outcomeOK     = "ok"
	outcomeFailed = "failed"
)

// attributes names an output's attribute sets, made once: of what succeeded and of what did not.
type attributes struct{ ok, failed metric.MeasurementOption }

// The attributes of an output: its kind, "postgres" or "kafka", and on spans how many rows a write has.
const (
	kindKey = attribute.Key("pondage.sink")
	rowsKey = attribute.Key("pondage.rows")
)

func attributesOf(stream, kind string) attributes {
	of := func(outcome string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(telemetry.Stream.String(stream), kindKey.String(kind), telemetry.Outcome.String(outcome)))
	}
	return attributes{ok: of(outcomeOK), failed: of(outcomeFailed)}
}

// wrote counts an attempt to write.
func (m *Metrics) wrote(ctx context.Context, a attributes, rows int, began time.Time, err error) {
	outcome := a.ok
	if err != nil {
		outcome = a.failed
	} else {
		m.rows.Add(ctx, int64(rows), outcome)
	}
	m.duration.Record(ctx, time.Since(began).Seconds(), outcome)
}
