package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/cli/render"
)

// meter shows the progress of an ingest on standard error: in place on a terminal, else a line now and then.
type meter struct {
	*app
	size int64 // of the input; 0 when not known
	read *counted
	last time.Duration // when it was shown last
	open bool          // the line on the terminal is to be ended
}

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 5 * time.Second
)

func (m *meter) show(p ingest.Progress) {
	every := lineEvery
	if m.Interactive {
		every = redrawEvery
	}
	if p.Elapsed-m.last < every {
		return
	}
	m.last = p.Elapsed
	text := m.text(p)
	if !m.Interactive {
		fmt.Fprintln(m.Err, text)
		return
	}
	const clearLine = "\r\x1b[K"
	fmt.Fprint(m.Err, clearLine+text)
	m.open = true
}

// end leaves the line on the terminal.
func (m *meter) end() {
	if m.open {
		fmt.Fprintln(m.Err)
	}
}

func (m *meter) text(p ingest.Progress) string {
	parts := []string{render.Count(p.Records, "record"), render.Number(int64(perSecond(p.Records, p.Elapsed))) + "/s", size(p.Bytes)}
	if read := m.read.n.Load(); m.size > 0 && read > 0 {
		const percent = 100
		left := time.Duration(float64(p.Elapsed) * float64(m.size-read) / float64(read))
		parts = append(parts, fmt.Sprintf("%d %%", read*percent/m.size), "ETA "+left.Round(time.Second).String())
	}
	if p.Waiting != nil {
		parts = append(parts, "waits: "+p.Waiting.Error())
	}
	return strings.Join(parts, "  ")
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// size writes a number of bytes with a binary unit.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, name := float64(n), ""
	for _, name = range []string{"KiB", "MiB", "GiB", "TiB"} {
		value /= unit
		if value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
