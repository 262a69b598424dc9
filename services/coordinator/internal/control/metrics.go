package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

// Metrics are the instruments of the leader's loop. nil measures nothing.
type Metrics struct {
	meter    metric.Meter
	ended    metric.Int64Counter
	written  metric.Int64Counter
	duration metric.Float64Histogram
	resets   metric.Int64Counter
	age      metric.Float64ObservableGauge
}

// NewMetrics makes the instruments.
func NewMetrics(p metric.MeterProvider) (*Metrics, error) {
	m := p.Meter("github.com/pondage/pondage/services/coordinator/internal/control")
	out := Metrics{meter: m}
	var errs [5]error
	out.ended, errs[0] = m.Int64Counter("pondage.checkpoint.ended", metric.WithUnit("{checkpoint}"), metric.WithDescription("Checkpoints that have ended, by outcome: complete, failed."))
	out.written, errs[1] = m.Int64Counter("pondage.checkpoint.written", metric.WithUnit("By"), metric.WithDescription("Bytes written for complete checkpoints."))
	out.duration, errs[2] = m.Float64Histogram("pondage.checkpoint.duration", metric.WithUnit("s"), metric.WithDescription("From the beginning of a checkpoint until all its parts were known to be durable."))
	out.resets, errs[3] = m.Int64Counter("pondage.stream.resets", metric.WithUnit("{reset}"), metric.WithDescription("Stages that ended before their stream, by the code of the cause."))
	out.age, errs[4] = m.Float64ObservableGauge("pondage.checkpoint.age", metric.WithUnit("s"), metric.WithDescription("Since the newest complete checkpoint that this leader has seen complete."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("coordinator metrics: %w", err)
	}
	return &out, nil
}

// The outcomes of a checkpoint.
const (
	outcomeComplete = "complete"
	outcomeFailed   = "failed"
)

func (m *Metrics) completed(stream string, took ident.MonoMs, c store.Checkpoint) {
	if m == nil {
		return
	}
	ctx, of := context.Background(), telemetry.Stream.String(stream)
	m.ended.Add(ctx, 1, metric.WithAttributes(of, telemetry.Outcome.String(outcomeComplete)))
	m.written.Add(ctx, c.Cost.BytesIncremental, metric.WithAttributes(of))
	m.duration.Record(ctx, (time.Duration(took) * time.Millisecond).Seconds(), metric.WithAttributes(of))
}

func (m *Metrics) failed(stream string) {
	if m != nil {
		m.ended.Add(context.Background(), 1, metric.WithAttributes(telemetry.Stream.String(stream), telemetry.Outcome.String(outcomeFailed)))
	}
}

func (m *Metrics) reset(stream string, why *Cause) {
	if m != nil {
		m.resets.Add(context.Background(), 1, metric.WithAttributes(telemetry.Stream.String(stream), telemetry.Outcome.String(why.Code)))
	}
}

// observe has the gauge read what the leader knows.
func (m *Metrics) observe(ages func(func(stream string, age time.Duration))) {
	if m == nil {
		return
	}
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		ages(func(stream string, age time.Duration) {
			o.ObserveFloat64(m.age, age.Seconds(), metric.WithAttributes(telemetry.Stream.String(stream)))
		})
		return nil
	}, m.age)
	if err != nil {
		panic(fmt.Sprintf("coordinator metrics: %v", err)) // an instrument of another meter: cannot be
	}
}
