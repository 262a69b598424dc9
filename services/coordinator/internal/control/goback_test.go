package control

import (
	"testing"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/store"
)

func TestHowFarUpsertedRowsAreTakenBack(t *testing.T) {
	t.Parallel()
	const retain = 3
	kept := func(id ident.CheckpointID) store.EndedCheckpoint {
		return store.EndedCheckpoint{ID: id, Complete: true}
	}
	saved := func(id ident.CheckpointID) store.EndedCheckpoint {
		return store.EndedCheckpoint{ID: id, Complete: true, Saved: true}
	}
	abandoned := func(id ident.CheckpointID) store.EndedCheckpoint {
		return store.EndedCheckpoint{ID: id, Complete: true, Abandoned: true}
	}
	failed := func(id ident.CheckpointID) store.EndedCheckpoint { return store.EndedCheckpoint{ID: id} }
	for name, c := range map[string]struct {
		ended []store.EndedCheckpoint
		yes   []ident.CheckpointID
		no    []ident.CheckpointID
	}{
		"nothing is complete":           {[]store.EndedCheckpoint{failed(1)}, nil, []ident.CheckpointID{0, 1}},
		"all that retention keeps":      {[]store.EndedCheckpoint{kept(5), failed(6), kept(7), kept(8)}, []ident.CheckpointID{5, 7, 8}, []ident.CheckpointID{4, 6, 0}},
		"an old savepoint":              {[]store.EndedCheckpoint{saved(2), kept(5), kept(6), kept(7)}, []ident.CheckpointID{5}, []ident.CheckpointID{2}},
		"a savepoint among them":        {[]store.EndedCheckpoint{kept(5), saved(6), kept(7)}, []ident.CheckpointID{6}, nil},
		"it went back once":             {[]store.EndedCheckpoint{kept(5), abandoned(6), abandoned(7)}, []ident.CheckpointID{5}, []ident.CheckpointID{6, 7}},
		"it went back, with savepoints": {[]store.EndedCheckpoint{saved(1), saved(2), kept(5), abandoned(6)}, []ident.CheckpointID{5}, []ident.CheckpointID{1, 2}},
		"and went on":                   {[]store.EndedCheckpoint{saved(1), saved(2), kept(5), kept(8)}, []ident.CheckpointID{5, 8}, []ident.CheckpointID{1, 2}},
		"only savepoints":               {[]store.EndedCheckpoint{saved(1), saved(2)}, nil, []ident.CheckpointID{1}},
	} {
		for _, to := range c.yes {
			if !takenBack(c.ended, retain, to) {
				t.Errorf("%s: %d counts as gone", name, to)
			}
		}
		for _, to := range c.no {
			if takenBack(c.ended, retain, to) {
				t.Errorf("%s: %d counts as kept", name, to)
			}
		}
	}
}
