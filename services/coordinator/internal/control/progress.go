package control

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// progress adds up what the tasks of the stream's stage last reported. A stream whose tasks are gone has what was
// stored when they ended.
func (s *Service) progress(r row) Progress {
	reports := s.board.reports(r)
	if stored := r.Progress; over(r.State) && stored != nil {
		var p Progress
		if json.Unmarshal(stored, &p) == nil {
			return p
		}
	}
	return sum(reports, r.Partitions)
}

func sum(reports map[ident.Task]TaskReport, partitions []SourcePartition) Progress {
	bounds := map[taskPartition]*ident.NextOffset{}
	for _, sp := range partitions {
		bounds[taskPartition{sp.Topic, sp.Partition}] = sp.Until
	}
	p := Progress{Partitions: []PartitionProgress{}}
	for _, report := range reports {
		if report.Task.Level == ident.LevelSource {
			p.RecordsPerSecond += report.RecordsPerSecond
		}
		for _, part := range report.Partitions {
			p.Partitions = append(p.Partitions, partitionProgress(part, bounds[taskPartition{part.Topic, part.Partition}]))
		}
	}
	slices.SortFunc(p.Partitions, func(a, b PartitionProgress) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	for _, part := range p.Partitions {
		p.Counters = p.Counters.Add(part.Counters)
		p.Lag += part.Lag
	}
	p.Watermark, p.Ended = lastWatermark(reports)
	return p
}

type taskPartition struct {
	topic     string
	partition ident.Partition
}

func partitionProgress(r PartitionReport, until *ident.NextOffset) PartitionProgress {
	end := r.End
	if until != nil {
		end = *until // a bound may lie beyond the end: those records are still to come
	}
	return PartitionProgress{
		Topic: r.Topic, Partition: r.Partition, Next: r.Next, Lag: max(0, int64(end-r.Next)),
		Watermark: finite(r.Watermark), Idle: r.Idle, Done: r.Done, Counters: r.Counters,
	}
}

// finite returns the watermark when it is a time.
func finite(w ident.EventMs) *ident.EventMs {
	if w == ident.WatermarkNone || w == ident.WatermarkEnd {
		return nil
	}
	return &w
}

// lastWatermark is the lowest watermark of the tasks of the last level. ended: all of them are at the end.
func lastWatermark(reports map[ident.Task]TaskReport) (lowest *ident.EventMs, ended bool) {
	if len(reports) == 0 {
		return nil, false
	}
	last := slices.MaxFunc(slices.Collect(maps.Keys(reports)), ident.Task.Compare).Level
	ended = true
	for id, r := range reports {
		if id.Level != last {
			continue
		}
		ended = ended && (r.Watermark == ident.WatermarkEnd || task.State(r.State) == task.Finished)
		if w := finite(r.Watermark); w != nil && (lowest == nil || *w < *lowest) {
			lowest = w
		}
	}
	return lowest, ended
}
