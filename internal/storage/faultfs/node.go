package faultfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// node is a file or a directory.
type node struct {
	names, durable map[string]*node // of a directory; nil for a file
	// lost are the changes of names whose SyncDir failed: no later one makes them durable. Nil is a removal.
	lost map[string]*node

	data     []byte
	synced   int // bytes of data that are durable
	poisoned bool
	removed  bool // a name was taken away: that there is none left may be what was wanted
}

func directory() *node {
	return &node{names: map[string]*node{}, durable: map[string]*node{}, lost: map[string]*node{}}
}

// move is a rename of this life.
type move struct {
	node *node
	from *node // directory
	name string
}

// set changes a name; nil takes it away.
func (n *node) set(name string, to *node) {
	delete(n.lost, name)
	if to == nil {
		delete(n.names, name)
		return
	}
	n.names[name] = to
}

// changed are the names that are not durable as they are, in order.
func (n *node) changed() []string {
	var out []string
	for name := range n.names {
		if n.names[name] != n.durable[name] {
			out = append(out, name)
		}
	}
	for name := range n.durable {
		if n.names[name] == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// sync makes the names durable, or none of those that have changed ever if it fails.
func (n *node) sync(err error) error {
	for _, name := range n.changed() {
		to := n.names[name]
		if err != nil {
			n.lost[name] = to
			continue
		}
		if gone, lost := n.lost[name]; lost && gone == to {
			continue
		}
		if to == nil {
			delete(n.durable, name)
		} else {
			n.durable[name] = to
		}
	}
	return err
}

// Crash is the machine's: what was not durable is lost or not, by chance. Then the file system goes on, without faults.
func (f *FS) Crash(r *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wasThere := map[move]bool{}
	for _, m := range f.moved {
		wasThere[m] = m.from.durable[m.name] == m.node
	}
	f.root.crash(r)
	for _, m := range f.moved {
		if wasThere[m] && !m.node.removed && !f.root.holds(m.node) {
			m.from.names[m.name], m.from.durable[m.name] = m.node, m.node
			m.node.crash(r)
		}
	}
	f.moved = nil
	f.restart()
}

func (n *node) holds(other *node) bool {
	for _, below := range n.names {
		if below == other || below.holds(other) {
			return true
		}
	}
	return false
}

func (n *node) crash(r *rand.Rand) {
	if n.names == nil {
		n.tear(r)
		return
	}
	for _, name := range n.changed() {
		if before := n.durable[name]; r.IntN(2) == 0 {
			n.set(name, before)
		}
	}
	n.durable, n.lost = maps.Clone(n.names), map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		n.names[name].crash(r)
	}
}

// tear leaves a beginning of what was not durable: the file has grown, and its blocks were written up to somewhere.
func (n *node) tear(r *rand.Rand) {
	tail := n.data[n.synced:]
	if n.poisoned {
		tail = nil
	}
	tail = slices.Clone(tail[:r.IntN(len(tail)+1)])
	clear(tail[r.IntN(len(tail)+1):])
	n.data = append(slices.Clone(n.data[:n.synced]), tail...)
	n.synced, n.poisoned = len(n.data), false
}
