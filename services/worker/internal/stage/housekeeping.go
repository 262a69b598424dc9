package stage

import (
	"context"
	"time"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Housekeeping of a run.
const (
	// trimEvery is how often consumed edge records are deleted: often enough that a busy edge holds little, seldom enough
	// that brokers do not notice.
	trimEvery = 5 * time.Second
	// lookEvery is how often new source partitions are looked for (DESIGN §2).
	lookEvery = 10 * time.Second
)

// keepHouse deletes what the edges need no longer and looks for new source partitions, until the run ends. Both are
// repeated, so a failure only waits for the next time.
func (s *starting) keepHouse(ctx context.Context) {
	defer s.aside.close()
	trim, look := time.NewTicker(trimEvery), time.NewTicker(lookEvery)
	defer trim.Stop()
	defer look.Stop()
	trimmed := kafka.Offsets{}
	known := len(s.order.Partitions)
	for {
		select {
		case <-ctx.Done():
			return
		case <-trim.C:
			s.trim(ctx, trimmed)
		case <-look.C:
			known = s.look(ctx, known)
		}
	}
}

// trim deletes the edge records that this node's receivers have processed. Nothing needs them: a stage begins at the
// ends (DESIGN §4).
func (s *starting) trim(ctx context.Context, trimmed kafka.Offsets) {
	if s.into() == 0 || s.plan.Settings.EdgeKeep > 0 {
		return
	}
	before := kafka.Offsets{}
	for _, t := range s.r.TaskReports() {
		p := ident.Partition(t.Task.VGroup)
		if t.Task.Level == s.into() && t.Progress.Position > trimmed[p] {
			before[p] = t.Progress.Position
		}
	}
	if len(before) == 0 {
		return
	}
	if err := s.edges.Client.DeleteRecords(ctx, s.topic.Name, before); err != nil {
		s.r.log.Debug("consumed edge records were not deleted; tried again later", "topic", s.topic.Name, "error", err)
		return
	}
	for p, o := range before {
		trimmed[p] = o
	}
}

// look finds partitions that the source's topic has gained (trap T26). A task that is here reads its own from offset 0; one that
// would be new needs a reset, which the coordinator makes when it sees the topic.
func (s *starting) look(ctx context.Context, known int) int {
	if s.plan.Until != nil || s.plan.Source.Kafka == nil {
		return known
	}
	topic, err := s.source.Client.Topic(ctx, s.plan.Source.Kafka.Topic)
	if err != nil {
		s.r.log.Debug("source partitions could not be looked at; tried again later", "topic", s.plan.Source.Kafka.Topic, "error", err)
		return known
	}
	for ; known < len(topic.Partitions); known++ {
		n := ident.Partition(known)
		id := ident.Task{Level: ident.LevelSource, VGroup: plan.SourceVGroup(s.r.id, n, s.plan.Env.VGroups)}
		s.r.log.Info("the source has a new partition", "topic", topic.Name, "partition", n, "task", id)
		s.r.mu.Lock()
		t, here := s.r.tasks[id].(*task.Source)
		s.r.mu.Unlock()
		if here {
			t.AddPartition(task.SourcePartition{Topic: topic.Name, TopicID: topic.ID, Partition: n})
		}
	}
	return known
}
