package stage

import (
	"context"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/telemetry"
)

// trimEvery is how often consumed edge records are deleted: often enough that a busy edge holds little, seldom enough
// that brokers do not notice.
const trimEvery = 5 * time.Second

// keepHouse deletes what the edge needs no longer, until the run ends. A failure only waits for the next time.
func (s *starting) keepHouse(ctx context.Context) {
	if s.into() == 0 || s.plan.Settings.EdgeKeep > 0 {
		return
	}
	trimmed := kafka.Offsets{}
	for pause(ctx, trimEvery) {
		s.trim(ctx, trimmed)
	}
}

// trim deletes the edge records that this node's receivers have processed. Nothing needs them: a stage begins at the
// ends (DESIGN §4).
func (s *starting) trim(ctx context.Context, trimmed kafka.Offsets) {
	before := kafka.Offsets{}
	for _, t := range s.r.reports() {
		p := ident.Partition(t.Task.VGroup)
		if t.Task.Level == s.into() && t.Progress.Position > trimmed[p] {
			before[p] = t.Progress.Position
		}
	}
	if len(before) == 0 {
		return
	}
	if err := s.edges.Client.DeleteRecords(ctx, s.topic.Name, before); err != nil {
		s.r.log.Debug("consumed edge records were not deleted; tried again later", "topic", s.topic.Name, telemetry.KeyError, err)
		return
	}
	for p, o := range before {
		trimmed[p] = o
	}
}
