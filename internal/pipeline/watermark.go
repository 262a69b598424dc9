package pipeline

import (
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/internal/window"
)

// SourceWatermark configures the watermark core of a source task; there are no destinations when its sinks are chained.
func SourceWatermark(p *plan.Plan, destinations []ident.Task) (watermark.SourceConfig, error) {
	set := p.Settings
	c := watermark.SourceConfig{
		Destinations: destinations, Delay: set.Watermark, AllowedLateness: lateness(p), TableTTL: set.TableTTL, IdleTimeout: set.IdleTimeout,
	}
	if set.LateBy == spec.LateByTable {
		c.LateBy = watermark.LateByTable
	}
	if !p.Windowed() {
		return c, nil
	}
	c.WindowSpan = p.Window.Size.Longest()
	var err error
	c.NextEnd, err = nextEnd(p.Window)
	return c, err
}

func lateness(p *plan.Plan) time.Duration {
	if p.Settings.Lateness.Unbounded {
		return watermark.Unbounded
	}
	return p.Settings.Lateness.For
}

// nextEnd returns the function that finds the lowest window end above a time.
func nextEnd(w *window.Spec) (func(ident.EventMs) ident.EventMs, error) {
	windows, err := window.NewWindows(*w)
	if err != nil {
		return nil, err
	}
	return func(after ident.EventMs) ident.EventMs {
		start, ok := windows.FirstEndingAfter(windows.Pane(after), after)
		if !ok { // in a gap between windows
			return windows.End(windows.Next(windows.Pane(after)))
		}
		return windows.End(start)
	}, nil
}

// MergeWatermark configures the watermark core of a receiving task.
func MergeWatermark(p *plan.Plan, upstreams []ident.Task) watermark.MergeConfig {
	c := watermark.MergeConfig{Upstreams: upstreams, CloseIdleAfter: p.Settings.CloseIdleAfter}
	if !p.Windowed() {
		c.Windows = watermark.Windowless
	}
	return c
}

// keep is how long a closed window is kept for late rows (DESIGN §8).
func keep(p *plan.Plan) ident.EventMs {
	set := p.Settings
	switch {
	case set.Lateness.Unbounded:
		return window.KeepForever
	case set.LateBy == spec.LateByTable:
		return ident.EventMs(max(set.TableTTL, set.Lateness.For).Milliseconds())
	}
	return ident.EventMs(set.Lateness.For.Milliseconds())
}
