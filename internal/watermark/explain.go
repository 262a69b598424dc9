package watermark

import "github.com/pondage/pondage/internal/ident"

// Rule is what a task's watermark follows at present.
type Rule string

// The rules of DESIGN §6.
const (
	RuleMinimum  Rule = "minimum"  // of those that are not idle
	RuleSilence  Rule = "silence"  // all idle or finished: moved on by the monotonic clock
	RuleIdleOff  Rule = "idle_off" // all idle or finished, and close_idle_after is 0: stays
	RuleFinished Rule = "finished"
)

// SourceInfo is what explain-window shows of a source task.
type SourceInfo struct {
	Watermark  ident.EventMs
	Idle       bool
	Partitions []PartitionInfo
}

// PartitionInfo is what explain-window shows of a partition.
type PartitionInfo struct {
	Partition ident.Partition
	Phase     string // silent, active, idle, waiting for its floor, done
	Highest   ident.EventMs
	Floor     ident.EventMs
	Watermark ident.EventMs // WatermarkNone while it has not spoken
	Lag       Lag
	Next      ident.NextOffset
	Holds     bool // it is the one, or one of those, that the task's watermark waits for
}

// Explain returns what decides the watermark of a source task.
func (s *Source) Explain() SourceInfo {
	low, held := s.minimum()
	info := SourceInfo{Watermark: s.told.watermark, Idle: s.asleep}
	for _, p := range s.order {
		info.Partitions = append(info.Partitions, PartitionInfo{
			Partition: p.number, Phase: p.phase.String(), Highest: ident.EventMs(p.highest), Floor: ident.EventMs(p.floor),
			Watermark: p.watermark(), Lag: p.lag, Next: p.next,
			Holds: held && p.phase != idle && p.phase != done && p.watermark() == low,
		})
	}
	return info
}

// MergeInfo is what explain-window shows of a downstream task.
type MergeInfo struct {
	Watermark      ident.EventMs
	Rule           Rule
	SilenceMs      int64 // since the last rows or active word
	CloseIdleAfter int64 // ms; 0: off
	Upstreams      []UpstreamInfo
}

// UpstreamInfo is what explain-window shows of an upstream.
type UpstreamInfo struct {
	Task      ident.Task
	Watermark ident.EventMs // the last finite one
	Spoken    bool          // in this stage
	Idle      bool
	Finished  bool
	Holds     bool
}

// Explain returns what decides the watermark of a downstream task.
func (m *Merge) Explain(now ident.MonoMs) MergeInfo {
	low, rule := m.target(now)
	info := MergeInfo{Watermark: m.told.watermark, Rule: rule, CloseIdleAfter: m.closeAfter}
	if m.hasHeard {
		info.SilenceMs = m.silence(now)
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		here := !in.finished && (!in.spoken || !in.idle)
		info.Upstreams = append(info.Upstreams, UpstreamInfo{
			Task: in.task, Watermark: in.watermark, Spoken: in.spoken, Idle: in.idle, Finished: in.finished,
			Holds: rule == RuleMinimum && here && (!in.spoken || in.watermark <= low),
		})
	}
	return info
}
