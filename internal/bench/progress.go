package bench

import (
	"context"
	"fmt"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// progress looks at the product's own count of the records that its source tasks have processed.
type progress struct {
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
}

// processedMetric is the instrument of the source tasks.
const processedMetric = "pondage.source.records"

// lookEvery is how often progress is looked at: the error of the steady span at either end, as at the peers.
const lookEvery = 5 * time.Millisecond

func newProgress() *progress {
	reader := sdkmetric.NewManualReader()
	return &progress{reader: reader, provider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}
}

// records returns how many records have been processed since the process began.
func (p *progress) records(ctx context.Context) (int64, error) {
	var all metricdata.ResourceMetrics
	if err := p.reader.Collect(ctx, &all); err != nil {
		return 0, fmt.Errorf("collect metrics: %w", err)
	}
	n := int64(0)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == processedMetric {
				for _, point := range sum.DataPoints {
					n += point.Value
				}
			}
		}
	}
	return n, nil
}

// reach waits until that many records have been processed.
func (p *progress) reach(ctx context.Context, wanted int64) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		n, err := p.records(ctx)
		if err != nil || n >= wanted {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
