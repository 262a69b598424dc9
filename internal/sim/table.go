package sim

import (
	"slices"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// table is the database of an upsert sink, as package pgtable uses it: rows with the trigger that their task had passed,
// images of what was replaced, a fence for each vgroup (DESIGN §9).
type table struct {
	w       *world
	fence   map[ident.VGroup]ident.Stage
	holders map[ident.VGroup][]*transaction
	rows    map[string]shown
	images  map[image]shown
	doubled int // writes of a final result that was there
}

// shown is a row of the table.
type shown struct {
	value  string
	cp     ident.CheckpointID
	vgroup ident.VGroup
	batch  int // that wrote it
}

// image names a row that was replaced, by its key and the interval in which it was.
type image struct {
	key    string
	cp     ident.CheckpointID
	vgroup ident.VGroup
}

func newTable(w *world) *table {
	return &table{
		w: w, fence: map[ident.VGroup]ident.Stage{}, holders: map[ident.VGroup][]*transaction{}, rows: map[string]shown{}, images: map[image]shown{},
	}
}

// raise fences older stages: the transactions that hold the row are ended. It refuses a stage that is old itself.
func (t *table) raise(v ident.VGroup, stage ident.Stage) bool {
	if stage < t.fence[v] {
		return false
	}
	t.fence[v] = stage
	for _, x := range t.holders[v] {
		x.ended = true
		t.w.reach(WriteEnded)
	}
	t.holders[v] = nil
	return true
}

// restore takes back what was written after checkpoint c: the oldest image from then on comes back, if it is from before c.
func (t *table) restore(v ident.VGroup, c ident.CheckpointID) {
	oldest := map[string]ident.CheckpointID{}
	for i := range t.images {
		if at, there := oldest[i.key]; i.vgroup == v && i.cp >= c && (!there || i.cp < at) {
			oldest[i.key] = i.cp
		}
	}
	for key, r := range t.rows {
		if r.vgroup == v && r.cp >= c {
			delete(t.rows, key)
			t.w.reach(TakenBack)
		}
	}
	for key, cp := range oldest {
		if old := t.images[image{key, cp, v}]; old.cp < c {
			t.rows[key] = old
			t.w.reach(ImageBack)
		}
	}
	for i := range t.images {
		if i.vgroup == v && i.cp >= c {
			delete(t.images, i)
		}
	}
}

// transaction is one that has asked for its stage.
type transaction struct {
	t      *table
	vgroup ident.VGroup
	stage  ident.Stage
	ended  bool // by who raised the fence
}

// begin asks for the stage, and holds its row against who would raise it.
func (t *table) begin(v ident.VGroup, stage ident.Stage) (x *transaction, ok bool) {
	x = &transaction{t: t, vgroup: v, stage: stage}
	switch {
	case t.w.on(failpoint.SkipFence):
		return x, true
	case stage != t.fence[v]:
		return nil, false
	case t.w.on(failpoint.NoFenceLock):
		return x, true
	}
	t.holders[v] = append(t.holders[v], x)
	return x, true
}

// commit writes the batch, or nothing of it.
func (x *transaction) commit(b batch) bool {
	t := x.t
	t.holders[x.vgroup] = slices.DeleteFunc(t.holders[x.vgroup], func(y *transaction) bool { return x == y })
	if x.ended {
		return false
	}
	if x.stage < t.fence[x.vgroup] {
		t.w.violated("I8", "vgroup %d: stage %d writes results in stage %d", x.vgroup, x.stage, t.fence[x.vgroup])
	}
	for _, r := range b.results {
		old, there := t.rows[r.key]
		if there && old.batch != b.number && !t.w.shape.atOnce {
			t.doubled++
		}
		i := image{r.key, b.cp, x.vgroup}
		if _, kept := t.images[i]; there && old.cp < b.cp && !kept {
			t.images[i] = old
		}
		t.rows[r.key] = shown{r.value, b.cp, x.vgroup, b.number}
	}
	return true
}

// batch is results of one flush.
type batch struct {
	number  int
	cp      ident.CheckpointID // the last trigger before it
	results []result
}

// session is a task's end of the table: it writes in order, one transaction at a time.
type session struct {
	s      *stage
	vgroup ident.VGroup
	cp     ident.CheckpointID // the last trigger passed
	queue  []batch
	open   bool // the fence is raised, the dead timeline taken back
	busy   bool
	fenced bool
}

func (x *session) write(results []result) {
	x.s.w.batches++
	x.queue = append(x.queue, batch{x.s.w.batches, x.cp, results})
	x.next()
}

func (x *session) trigger(c ident.CheckpointID) { x.cp = c }

// durable tells whether everything from before the trigger is.
func (x *session) durable(c ident.CheckpointID) bool {
	return x.open && (len(x.queue) == 0 || x.queue[0].cp >= c)
}

func (x *session) idle() bool { return x.open && len(x.queue) == 0 }

// next begins the next step.
func (x *session) next() {
	if x.busy || x.fenced {
		return
	}
	t := x.s.w.table
	switch {
	case !x.open:
		x.step("raise the fence", nil, func() {
			if x.fenced = !t.raise(x.vgroup, x.s.number); !x.fenced {
				t.restore(x.vgroup, x.s.from)
				x.open = true
			}
		})
	case len(x.queue) > 0:
		x.step("begin", nil, func() {
			if y, ok := t.begin(x.vgroup, x.s.number); ok {
				x.commit(y, x.queue[0])
			} else {
				x.fenced = true
				t.w.reach(WriteFenced)
			}
		})
	}
}

// commit ends a transaction. It may reach the database although its task is dead, and its answer may be lost: then the
// same is written again.
func (x *session) commit(y *transaction, b batch) {
	x.step("commit", func() { y.commit(b) }, func() {
		const answerLost = 10
		if y.commit(b) && !x.s.w.chance(answerLost) {
			x.queue = x.queue[1:]
		}
	})
}

func (x *session) step(what string, late, say func()) {
	x.busy = true
	x.s.w.later(word{what: what, to: x.s, late: late, slow: late != nil, say: func() error {
		x.busy = false
		say()
		x.next()
		return nil
	}})
}
