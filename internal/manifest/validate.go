package manifest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/ident"
)

// Validate tells everything that is wrong with a manifest; nil when nothing is.
func (m *Manifest) Validate() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if m.Cluster == "" || m.Stream <= 0 {
		fault("it names no stream")
	}
	if m.Stage <= 0 || m.Checkpoint <= 0 || m.Tx == 0 {
		fault("stage %d, checkpoint %d and transaction %d must be given", m.Stage, m.Checkpoint, m.Tx)
	}
	if _, err := ident.ParseTask(m.Task); err != nil {
		fault("%v", err)
	}
	m.texts(func(what, text string) {
		if !utf8.ValidString(text) {
			fault("%s %q is not UTF-8: JSON would change it", what, text)
		}
	})
	m.files(fault)
	m.intervals(fault)
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// texts hands out what others have named.
func (m *Manifest) texts(to func(what, text string)) {
	to("cluster", string(m.Cluster))
	to("stream", m.Name)
	to("plan", m.Plan)
	for _, o := range m.Operators {
		to("operator", o.ID)
		for _, a := range o.Accumulators {
			to("accumulator", a)
		}
	}
	for _, f := range m.Files {
		to("operator or sink", f.Of)
	}
	if m.Source != nil {
		for _, p := range m.Source.Partitions {
			to("topic", p.Topic)
			to("topic id", p.TopicID)
			for _, t := range p.Tables {
				to("table", t.Name)
			}
		}
	}
	if m.Merge != nil {
		for _, u := range m.Merge.Upstreams {
			to("upstream", u.Task)
		}
	}
	for _, s := range m.Sinks {
		to("sink", s.Kind)
	}
}

// files checks what a store needs to find them, and that none is of the future.
func (m *Manifest) files(fault func(string, ...any)) {
	for i, f := range m.Files {
		if f.Bytes < 0 || f.Hash == (Hash{}) {
			fault("file %d has no size or hash", i)
		}
		if f.Role != RoleBase && f.Role != RoleDelta && f.Role != RoleSink {
			fault("file %d has the role %q", i, f.Role)
		}
		if f.Checkpoint <= 0 || f.Checkpoint > m.Checkpoint {
			fault("file %d is of checkpoint %d", i, f.Checkpoint)
		}
		if _, err := ident.ParseTask(f.Task); err != nil {
			fault("file %d: %v", i, err)
		}
	}
}

// intervals checks that a sink's intervals do not fall, lie before the checkpoint, and have their files.
func (m *Manifest) intervals(fault func(string, ...any)) {
	files := map[Hash]bool{}
	for _, f := range m.Files {
		files[f.Hash] = files[f.Hash] || f.Role == RoleSink
	}
	for _, s := range m.Sinks {
		last := ident.CheckpointID(-1)
		for _, i := range s.Intervals {
			if i.After < last || i.After >= m.Checkpoint {
				fault("the interval after %d of sink %s is out of order in checkpoint %d", i.After, s.Kind, m.Checkpoint)
			}
			if last = i.After; !files[i.Hash] {
				fault("the file of the interval after %d of sink %s is not listed", i.After, s.Kind)
			}
		}
	}
}
