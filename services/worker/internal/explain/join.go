package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/pondage/pondage/internal/api/worker"
)

// join puts the explanations of several nodes together.
func join(parts []api.WindowExplanation) api.WindowExplanation {
	out := api.WindowExplanation{
		Partitions: []api.ExplainedPartition{}, Channels: []api.ExplainedChannel{}, Windows: []api.ExplainedWindow{}, Notes: []string{},
	}
	for _, p := range parts {
		out.Partitions = append(out.Partitions, p.Partitions...)
		out.Channels = append(out.Channels, p.Channels...)
		out.Notes = append(out.Notes, p.Notes...)
		out.Late += p.Late
		out.PendingWindows += p.PendingWindows
		out.Windows = joinWindows(out.Windows, p.Windows)
	}
	slices.SortFunc(out.Partitions, func(a, b api.ExplainedPartition) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	slices.SortFunc(out.Windows, func(a, b api.ExplainedWindow) int { return a.Start.Compare(b.Start) })
	out.Watermark = joinWatermarks(parts, len(out.Channels) > 0)
	out.HeldBy = holder(out)
	return out
}

// joinWindows takes the windows of one more node in: what decides least gives way.
func joinWindows(all, more []api.ExplainedWindow) []api.ExplainedWindow {
	for _, w := range more {
		i := slices.IndexFunc(all, func(o api.ExplainedWindow) bool { return o.Start.Equal(w.Start) })
		switch {
		case i < 0:
			all = append(all, w)
		case weight[w.State] > weight[all[i].State]:
			w.PartialSince = later(w.PartialSince, all[i].PartialSince)
			all[i] = w
		default:
			all[i].PartialSince = later(all[i].PartialSince, w.PartialSince)
		}
	}
	return all
}

// joinWatermarks is the lowest watermark of the tasks that decide: the receiving ones, if there are any.
func joinWatermarks(parts []api.WindowExplanation, receiving bool) *time.Time {
	var lowest *time.Time
	for _, p := range parts {
		decides := len(p.Channels) > 0 || (!receiving && len(p.Partitions) > 0)
		switch {
		case !decides || ended(p):
		case p.Watermark == nil:
			return nil // none yet
		case lowest == nil || p.Watermark.Before(*lowest):
			lowest = p.Watermark
		}
	}
	return lowest
}

// ended tells whether nothing holds the tasks of a part any more: their watermark is the end of time, which is no time.
func ended(p api.WindowExplanation) bool {
	if len(p.Channels) > 0 {
		return !slices.ContainsFunc(p.Channels, func(c api.ExplainedChannel) bool { return !c.Finished })
	}
	return !slices.ContainsFunc(p.Partitions, func(x api.ExplainedPartition) bool { return !x.Finished })
}

// notes says in words what the whole means.
func (q *question) notes(whole api.WindowExplanation) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	p := q.stream.Plan
	switch {
	case len(whole.Partitions)+len(whole.Channels) == 0:
		add("no task of the stream has reported: it is wanted %s", q.stream.Wanted)
		return out
	case q.stream.Wanted != wantedRunning:
		add("the stream is wanted %s", q.stream.Wanted)
	}
	switch {
	case whole.HeldBy != nil && whole.HeldBy.Kind == "partition":
		add("waits for partition %s, whose watermark is %s: %s", whole.HeldBy.Name, heldAt(whole), whole.HeldBy.Reason)
	case whole.HeldBy != nil:
		add("waits for the channel %s: %s", whole.HeldBy.Name, whole.HeldBy.Reason)
	case ended(whole):
		add("every input is finished: all windows are closed")
	}
	if !p.Windowed() {
		add("the stream has no window: its rows go out as they come")
	} else if p.Settings.CloseIdleAfter == 0 {
		add("closing by silence is switched off (close_idle_after 0)")
	}
	if q.table != "" && q.vgroup == nil {
		add("the stream is not partitioned by table alone, so all its tasks are shown")
	}
	if q.time != nil && len(whole.Windows) >= maxWindows {
		add("of the windows that hold the time, the first %d are listed", maxWindows)
	}
	return out
}

const wantedRunning = "running"

// heldAt is the watermark of the partition that holds.
func heldAt(e api.WindowExplanation) string {
	for _, p := range e.Partitions {
		if nameOf(p) == e.HeldBy.Name && p.Watermark != nil {
			return p.Watermark.Format("2006-01-02T15:04:05.000Z")
		}
	}
	return "none yet"
}
