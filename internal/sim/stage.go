package sim

import (
	"errors"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// stage is the tasks of one stage, each in one life.
type stage struct {
	w          *world
	generation int
	number     ident.Stage
	from       ident.CheckpointID
	sources    []*source
	receivers  []*receiver
	credits    *dispatch.Credits
	config     align.Config
	over       bool // nothing of it runs any more
	lost       bool // it needs a reset, and the coordinator can see that
}

// tasks are those of the placement.
func tasks() (all []ident.Task) {
	for v := range ident.VGroup(vgroups) {
		all = append(all, ident.Task{Level: ident.LevelSource, VGroup: v}, ident.Task{Level: ident.LevelAgg, VGroup: v})
	}
	return all
}

// peers are the tasks of a level.
func peers(l ident.Level) (all []dispatch.Peer) {
	for _, t := range tasks() {
		if t.Level == l {
			all = append(all, dispatch.Peer{Task: t, Place: place})
		}
	}
	return all
}

func newStage(w *world, generation int, number ident.Stage, from ident.CheckpointID) (*stage, error) {
	s := &stage{
		w: w, generation: generation, number: number, from: from, credits: dispatch.NewCredits(place),
		config: align.Config{Stage: number, Restored: from, Complete: w.meta.complete, Settled: max(w.meta.settled, from)},
	}
	w.store.raise(number)
	w.published.open(number)
	restored := w.store.load(from)
	for _, p := range peers(ident.LevelAgg) {
		r, err := newReceiver(s, p.Task, restored[p.Task])
		if err != nil {
			return nil, err
		}
		s.receivers = append(s.receivers, r)
		for _, up := range peers(ident.LevelSource) {
			s.credits.Step(dispatch.Opened{Channel: r.channel(up.Task), From: place.Node})
		}
	}
	for _, p := range peers(ident.LevelSource) {
		src, err := newSource(s, p.Task, restored[p.Task])
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, src)
	}
	return s, nil
}

// start begins to read. What an earlier stage left in the logs lies before the receivers' positions.
func (s *stage) start() error {
	for _, r := range s.receivers {
		r.session.next()
	}
	for _, src := range s.sources {
		if err := src.begin(); err != nil {
			return err
		}
	}
	return nil
}

// restartOne starts a source task a second time in the stage, as no node may.
func (s *stage) restartOne() error {
	i := s.w.rand.IntN(len(s.sources))
	t := s.sources[i].self.Task
	again, err := newSource(s, t, s.w.store.load(s.from)[t])
	if err != nil {
		return err
	}
	s.sources[i] = again
	return s.w.ends(s, again.begin())
}

func (s *stage) source(t ident.Task) *source { return s.sources[t.VGroup] }

// read lets a source task read.
func (s *stage) read() error {
	if s.over {
		return nil
	}
	return s.sources[s.w.rand.IntN(len(s.sources))].read()
}

// poll lets a receiving task read.
func (s *stage) poll() error {
	if s.over {
		return nil
	}
	return s.receivers[s.w.rand.IntN(len(s.receivers))].poll()
}

// needReset is the end of the stage. The logs here lose nothing, so that no task has a reason to ask for it.
func (s *stage) needReset(f dispatch.NeedReset) {
	s.lost = true
	s.w.violated("a reset that nothing explains", "%s", f)
}

// cutOff keeps one source task from the brokers for a while, so that its triggers are missing where others have come.
func (s *stage) cutOff() {
	const mostMs = 15_000
	s.sources[s.w.rand.IntN(len(s.sources))].cut = s.w.now + ident.MonoMs(s.w.rand.IntN(mostMs))
}

// parts are all tasks' sides of checkpoints.
func (s *stage) parts() (all []*part) {
	for _, src := range s.sources {
		all = append(all, src.part)
	}
	for _, r := range s.receivers {
		all = append(all, r.part)
	}
	return all
}

// each steps every part.
func (s *stage) each(e align.Event) error {
	var errs []error
	for _, p := range s.parts() {
		errs = append(errs, p.step(e))
	}
	return errors.Join(errs...)
}

// tick passes time to every core, and tells credits.
func (s *stage) tick() error {
	var errs []error
	for _, src := range s.sources {
		errs = append(errs, src.tick())
	}
	for _, r := range s.receivers {
		errs = append(errs, r.tick())
	}
	for _, post := range s.credits.Step(dispatch.CreditTick{Now: s.w.now}) {
		message := post.Message
		s.w.tell("credits", s, func() error {
			for _, e := range message.Entries {
				if err := s.source(e.Upstream).send(dispatch.Credited{From: message.From, Entry: e, Now: s.w.now}); err != nil {
					return err
				}
			}
			s.credits.Step(dispatch.CreditPosted{To: message.To, Seq: message.Seq})
			return nil
		})
	}
	return errors.Join(errs...)
}

// order brings the newest verdicts to every task.
func (s *stage) order(number ident.Stage, complete, settled ident.CheckpointID) error {
	return s.each(align.Settled{Stage: number, Complete: complete, Settled: settled, Now: s.w.now})
}

// reportAgain tells a coordinator that has come newly what the one before was told.
func (s *stage) reportAgain(newer bool) error {
	if !newer {
		return nil
	}
	return s.each(align.ReportAgain{Now: s.w.now})
}
