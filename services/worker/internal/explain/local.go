package explain

import (
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/watermark"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// question is what is asked of a stream.
type question struct {
	stream *catalog.Stream
	time   *ident.EventMs
	// vgroup is that of the table asked for; nil: all.
	vgroup *ident.VGroup
	table  string
}

func newQuestion(s *catalog.Stream, p api.ExplainWindowParams) question {
	q := question{stream: s}
	if p.Time != nil {
		ms := ident.EventMs(p.Time.UnixMilli())
		q.time = &ms
	}
	if p.Table == nil {
		return q
	}
	q.table = *p.Table
	if s.Plan.ByTable {
		key := block.NewColumn(block.String, 1)
		key.AppendString(q.table)
		vg := s.Plan.NewRouter().VGroup([]*block.Column{key}, 0)
		q.vgroup = &vg
	}
	return q
}

// concerns tells whether a receiving task has to do with the table asked for.
func (q *question) concerns(t ident.Task) bool { return q.vgroup == nil || t.VGroup == *q.vgroup }

// local explains the tasks of this node.
func (q *question) local(reports []task.Report) api.WindowExplanation {
	out := api.WindowExplanation{
		Stream: q.stream.Name, Stage: common.Int64(q.stream.Stage), Partitions: []api.ExplainedPartition{}, Channels: []api.ExplainedChannel{},
		Windows: []api.ExplainedWindow{}, Notes: []string{},
	}
	lowest := ident.WatermarkEnd // of the receiving tasks, of the sources where there are none
	var sources, receivers []task.Report
	for _, r := range reports {
		switch {
		case r.Progress.Source != nil:
			sources = append(sources, r)
			q.addSource(&out, r)
		case r.Progress.Merge != nil && q.concerns(r.Task):
			receivers = append(receivers, r)
			q.addReceiver(&out, r)
		}
	}
	deciding := receivers
	if len(deciding) == 0 {
		deciding = sources
	}
	for _, r := range deciding {
		lowest = min(lowest, r.Progress.Watermark)
	}
	if len(deciding) > 0 {
		out.Watermark = eventTime(lowest)
	}
	out.HeldBy = holder(out)
	if q.time != nil && q.stream.Plan.Windowed() && len(receivers) > 0 {
		out.Windows = q.windows(*q.time, lowest, receivers)
	}
	return out
}

// addSource explains the partitions of a source task.
func (q *question) addSource(out *api.WindowExplanation, r task.Report) {
	progress := map[ident.Partition]task.PartitionProgress{}
	for _, p := range r.Progress.Partitions {
		progress[p.Partition] = p
		out.Late += common.Int64(p.Counters.Late)
	}
	for _, p := range r.Progress.Source.Partitions {
		at := progress[p.Partition]
		lag := max(at.End-p.Next, 0)
		out.Partitions = append(out.Partitions, api.ExplainedPartition{
			Task: r.Task.String(), Topic: at.Topic, Partition: int32(p.Partition), Watermark: eventTime(p.Watermark), Floor: eventTime(p.Floor),
			Idle: p.Phase == phaseIdle, Finished: p.Phase == phaseDone, Holds: p.Holds, Lag: common.Int64(lag), Reason: q.whyPartition(p, int64(lag)),
		})
	}
}

// The phases of a partition, in the words of package watermark.
const (
	phaseSilent  = "silent"
	phaseIdle    = "idle"
	phaseWaiting = "waiting for its floor"
	phaseDone    = "done"
)

// whyPartition says why a partition is as it is.
func (q *question) whyPartition(p watermark.PartitionInfo, lag int64) string {
	switch {
	case p.Phase == phaseDone:
		return "finished: its bound is reached"
	case p.Lag == watermark.LagOpenTransaction:
		return "open transaction: its records cannot be read before it ends"
	case p.Lag == watermark.LagPaused:
		return "paused: its records are not read"
	case p.Lag == watermark.LagHistory:
		return "history is being read first"
	case p.Phase == phaseIdle:
		return fmt.Sprintf("idle: no record for %s; it holds nothing", q.stream.Plan.Settings.IdleTimeout)
	case p.Phase == phaseWaiting:
		return "it is back from idleness and waits for its floor: the windowed tasks are asked for their watermarks"
	case p.Lag == watermark.LagBehind:
		return fmt.Sprintf("lag: %d records wait to be read", lag)
	case p.Phase == phaseSilent:
		return fmt.Sprintf("never spoke: no record in this stage; idle after %s", q.stream.Plan.Settings.IdleTimeout)
	}
	return fmt.Sprintf("active: its highest event time is %s, the stream's watermark delay is %s", textOf(p.Highest), q.stream.Plan.Settings.Watermark)
}

// addReceiver explains the channels of a receiving task, and what its watermark follows.
func (q *question) addReceiver(out *api.WindowExplanation, r task.Report) {
	out.PendingWindows += common.Int64(r.Progress.Open)
	info := r.Progress.Merge
	for _, u := range info.Upstreams {
		out.Channels = append(out.Channels, api.ExplainedChannel{
			Upstream: u.Task.String(), Downstream: r.Task.String(), Watermark: eventTime(u.Watermark),
			Idle: u.Idle, Finished: u.Finished, Holds: u.Holds, Reason: whyChannel(u),
		})
	}
	switch info.Rule {
	case watermark.RuleSilence:
		silence := time.Duration(info.SilenceMs) * time.Millisecond
		after := time.Duration(info.CloseIdleAfter) * time.Millisecond
		out.Notes = append(out.Notes, fmt.Sprintf("%s: all inputs are idle or finished; windows close by silence, %s after the last row (close_idle_after), silent for %s", r.Task, after, silence))
	case watermark.RuleIdleOff:
		out.Notes = append(out.Notes, fmt.Sprintf("%s: all inputs are idle or finished, and closing by silence is switched off (close_idle_after 0): the next row or the end of the stream closes its windows", r.Task))
	case watermark.RuleMinimum, watermark.RuleFinished:
	}
}

func whyChannel(u watermark.UpstreamInfo) string {
	switch {
	case u.Finished:
		return "finished: its source has reached its bound"
	case !u.Spoken:
		return "never spoke in this stage"
	case u.Idle:
		return "idle: it holds nothing"
	}
	return "active"
}

// holder names what keeps the watermark where it is: a partition rather than a channel, since the channel waits for it.
func holder(e api.WindowExplanation) *api.NullableHolder {
	var best *api.ExplainedPartition
	for i, p := range e.Partitions {
		if p.Holds && (best == nil || earlier(p.Watermark, best.Watermark)) {
			best = &e.Partitions[i]
		}
	}
	if best != nil {
		return &api.NullableHolder{Kind: "partition", Name: nameOf(*best), Reason: best.Reason}
	}
	for _, c := range e.Channels {
		if c.Holds {
			return &api.NullableHolder{Kind: "channel", Name: c.Upstream + " → " + c.Downstream, Reason: c.Reason}
		}
	}
	return nil
}

func nameOf(p api.ExplainedPartition) string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// earlier compares watermarks; one that there is not yet is the earliest.
func earlier(a, b *time.Time) bool {
	switch {
	case b == nil:
		return false
	case a == nil:
		return true
	}
	return a.Before(*b)
}

// eventTime is an event time in the form of the API; null for those that are no times.
func eventTime(ms ident.EventMs) *time.Time {
	t := time.UnixMilli(int64(ms)).UTC()
	if ms == ident.WatermarkNone || ms == ident.WatermarkEnd || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	return &t
}

func textOf(ms ident.EventMs) string {
	if t := eventTime(ms); t != nil {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	return "none"
}
