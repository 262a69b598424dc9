package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Metrics are the instruments of all runs of a node. What tasks report is read when it is asked for.
type Metrics struct {
	meter                               metric.Meter
	starts                              metric.Int64Counter
	tasks, lag, queue, windows, pending metric.Int64ObservableGauge
	behind                              metric.Float64ObservableGauge
}

// NewMetrics makes the instruments.
func NewMetrics(p metric.MeterProvider) (*Metrics, error) {
	m := p.Meter("github.com/pondage/pondage/services/worker/internal/stage")
	out := Metrics{meter: m}
	var errs [7]error
	out.starts, errs[0] = m.Int64Counter("pondage.stage.starts", metric.WithUnit("{stage}"), metric.WithDescription("Stages that were brought up on this node, by outcome: started, failed, reset."))
	out.tasks, errs[1] = m.Int64ObservableGauge("pondage.task.live", metric.WithUnit("{task}"), metric.WithDescription("Tasks on this node, by state."))
	out.lag, errs[2] = m.Int64ObservableGauge("pondage.source.lag", metric.WithUnit("{record}"), metric.WithDescription("Records of the source that are not processed yet, as the brokers last told."))
	out.queue, errs[3] = m.Int64ObservableGauge("pondage.task.queue", metric.WithUnit("By"), metric.WithDescription("What a task holds of the node's memory: blocks on their way, held blocks, results that wait."))
	out.windows, errs[4] = m.Int64ObservableGauge("pondage.window.open", metric.WithUnit("{pane}"), metric.WithDescription("(group, pane) pairs of open windows."))
	out.pending, errs[5] = m.Int64ObservableGauge("pondage.sink.pending", metric.WithUnit("{batch}"), metric.WithDescription("Batches of results that wait before an output."))
	out.behind, errs[6] = m.Float64ObservableGauge("pondage.task.watermark.lag", metric.WithUnit("s"), metric.WithDescription("How far a task's watermark is behind the clock."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("stage metrics: %w", err)
	}
	return &out, nil
}

// The outcomes of a bring-up.
const (
	outcomeStarted = "started"
	outcomeFailed  = "failed"
	outcomeReset   = "reset"
)

func (m *Metrics) broughtUp(stream, outcome string) {
	m.starts.Add(context.Background(), 1, metric.WithAttributes(telemetry.Stream.String(stream), telemetry.Outcome.String(outcome)))
}

// stateKey is the attribute of a task's state.
const stateKey = attribute.Key("pondage.state")

// observe has the gauges read what the runs report. A meter that keeps nothing never asks.
func (m *Metrics) observe(runs func() []*Run) {
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, r := range runs() {
			m.read(o, r.name, r.reports(), time.Now())
		}
		return nil
	}, m.tasks, m.lag, m.queue, m.windows, m.pending, m.behind)
	if err != nil {
		panic(fmt.Sprintf("stage metrics: %v", err)) // instruments of another meter: cannot be
	}
}

// read gives the observer the reports of a stream's tasks here.
func (m *Metrics) read(o metric.Observer, stream string, reports []task.Report, now time.Time) {
	states := map[string]int64{}
	for _, t := range reports {
		states[string(t.State)]++
		of := metric.WithAttributes(telemetry.Stream.String(stream), telemetry.Level.String(t.Task.Level.String()), telemetry.VGroup.String(strconv.Itoa(int(t.Task.VGroup))))
		p := t.Progress
		o.ObserveInt64(m.queue, p.QueueBytes, of)
		if p.Watermark != ident.WatermarkNone && p.Watermark != ident.WatermarkEnd {
			o.ObserveFloat64(m.behind, now.Sub(time.UnixMilli(int64(p.Watermark))).Seconds(), of)
		}
		if t.Task.Level == ident.LevelSource {
			o.ObserveInt64(m.lag, lag(p), of)
		} else {
			o.ObserveInt64(m.windows, int64(p.Open), of)
		}
		pending := 0
		for _, s := range p.Sinks {
			pending += s.Pending
		}
		o.ObserveInt64(m.pending, int64(pending), of)
	}
	for state, n := range states {
		o.ObserveInt64(m.tasks, n, metric.WithAttributes(telemetry.Stream.String(stream), stateKey.String(state)))
	}
}

func lag(p task.Progress) int64 {
	n := int64(0)
	for _, part := range p.Partitions {
		if !part.Done {
			n += max(0, int64(part.End-part.Next))
		}
	}
	return n
}
