package dispatch

import "github.com/pondage/pondage/internal/ident"

// alignment is what the receiver knows of the running checkpoint. What a task does at AllIn is package align's.
type alignment struct {
	running ident.CheckpointID // 0: none
	tx      ident.TxID
	// passed is the newest checkpoint that is complete, failed, or taken here: triggers up to it close nothing.
	passed ident.CheckpointID
}

// holding are the messages of closed inputs, in the order of their arrival.
type holding struct {
	limit    int
	bytes    int
	messages []Arrived
	// seek is the lowest offset of what did not fit.
	seek    ident.NextOffset
	skipped bool
}

// trigger is rule 5. Its msg id is consumed already. It is enqueued in any case: it counts as processed in its place.
func (r *Receiver) trigger(in *inbound, a Arrived) {
	c, tx := a.Header.Checkpoint, a.Header.Tx
	if r.align.running != 0 && c > r.align.running {
		r.emit(AlignmentFailed{Checkpoint: r.align.running})
		r.openInputs() // what was held may itself bring the trigger that begins the next alignment
	}
	if c > r.align.passed && r.align.running == 0 {
		r.align.running, r.align.tx = c, tx
		r.emit(AlignmentBegan{Checkpoint: c, Tx: tx, Trigger: a})
	}
	in.closed = c == r.align.running && tx == r.align.tx
	r.emit(Enqueue{a})
}

// done counts a trigger as in, once the task has processed everything ahead of it.
func (r *Receiver) done(e Done) {
	h := e.Header
	in := r.inputs[h.Upstream]
	if in == nil || !in.closed || in.in || h.Checkpoint != r.align.running || h.Tx != r.align.tx || h.Checkpoint == 0 {
		return
	}
	in.in = true
	r.emit(TriggerIn{From: h.Upstream, Checkpoint: h.Checkpoint})
	for _, other := range r.inputs {
		if !other.in {
			return
		}
	}
	r.emit(AllIn{Checkpoint: r.align.running, Tx: r.align.tx})
}

// open ends the alignment of the checkpoint after the task has taken its part.
func (r *Receiver) open(c ident.CheckpointID) {
	if c != 0 && c == r.align.running {
		r.openInputs()
	}
}

// settled ends the alignment of a checkpoint that is over, and of any older one. It is noted before the inputs open: a
// trigger among what was held must not begin one that is over, too.
func (r *Receiver) settled(c ident.CheckpointID) {
	r.align.passed = max(r.align.passed, c)
	if r.align.running != 0 && r.align.running <= c {
		r.openInputs()
	}
}

// Wanted returns the offset from which on the partition is still needed, below what was read last: what was skipped, or
// is to be read again. ok is false when nothing is.
func (r *Receiver) Wanted() (from ident.NextOffset, ok bool) {
	switch {
	case r.seek != nil:
		return *r.seek, true
	case r.held.skipped:
		return r.held.seek, true
	}
	return 0, false
}

// hold is rule 3. Once a message of an upstream did not fit, all its later ones are left out too, so that what is read
// again is in order. A skipped message changes nothing.
func (r *Receiver) hold(in *inbound, a Arrived) {
	h := &r.held
	if in.skipping || h.bytes+a.Bytes > h.limit {
		in.skipping = true
		if !h.skipped || a.Offset < h.seek {
			h.seek, h.skipped = a.Offset, true
		}
		r.drop(a, DropSkipped)
		return
	}
	h.bytes += a.Bytes
	h.messages = append(h.messages, a)
	r.emit(Hold{a})
}

// openInputs opens all inputs and takes what was held through the rules from rule 3 on, in order of arrival: a trigger
// among it may close an input again. What was skipped is read again; rule 4 drops what it finds a second time.
func (r *Receiver) openInputs() {
	r.align.passed = max(r.align.passed, r.align.running)
	r.align.running, r.align.tx = 0, 0
	for _, in := range r.inputs {
		in.closed, in.in, in.skipping = false, false, false
	}
	held := r.held
	r.held = holding{limit: held.limit}
	r.emit(InputsOpen{})
	for _, a := range held.messages {
		if r.over {
			r.drop(a, DropStageOver)
			continue
		}
		r.rules(r.inputs[a.Header.Upstream], a)
	}
	if held.skipped && !r.over {
		r.seek = &held.seek
		r.emit(Seek{Offset: held.seek})
	}
}
