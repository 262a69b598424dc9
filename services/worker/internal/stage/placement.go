package stage

import (
	"slices"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
)

// places is where the tasks of a stage run.
type places struct {
	peers     []dispatch.Peer // by level, then vgroup
	addresses map[ident.NodeID]string
}

// placement reads the order's placement; mine are the tasks of this place. What cannot be read is left out: it is
// nobody's task here, and the start record names it.
func placement(o common.Order, here ident.Place) (mine []ident.Task, p places) {
	p.addresses = map[ident.NodeID]string{}
	for _, t := range o.Tasks {
		task, errT := ident.ParseTask(t.Task)
		instance, errI := ident.ParseInstance(t.Instance)
		if errT != nil || errI != nil {
			continue
		}
		place := ident.Place{Node: ident.NodeID(t.Node), Instance: instance}
		p.peers = append(p.peers, dispatch.Peer{Task: task, Place: place})
		p.addresses[place.Node] = t.Address
		if place == here {
			mine = append(mine, task)
		}
	}
	slices.SortFunc(p.peers, func(a, b dispatch.Peer) int { return a.Task.Compare(b.Task) })
	slices.SortFunc(mine, ident.Task.Compare)
	return mine, p
}

// level returns the peers of a level.
func (p places) level(l ident.Level) []dispatch.Peer {
	var out []dispatch.Peer
	for _, x := range p.peers {
		if x.Task.Level == l {
			out = append(out, x)
		}
	}
	return out
}
