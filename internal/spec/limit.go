package spec

// Limit is a duration that can be switched off: absent (the zero value), `null` (off), or a duration.
type Limit struct {
	Set   bool // not absent
	Off   bool // null
	After Duration
}

func (l *Limit) decode(d *decoder, at string, n *node) {
	l.Set = true
	if n.kind == nodeNull {
		l.Off = true
		return
	}
	l.After.decode(d, at, n)
}

func (l Limit) encode() *node {
	if l.Off {
		return &node{kind: nodeNull}
	}
	return l.After.encode()
}

// Lateness is how long after its close a window still takes rows: a duration, or for ever.
type Lateness struct {
	Unbounded bool
	For       Duration
}

// unbounded is the word for Lateness.Unbounded.
const unbounded = "unbounded"

func (l *Lateness) decode(d *decoder, at string, n *node) {
	if n.kind == nodeString && n.text == unbounded {
		l.Unbounded = true
		return
	}
	l.For.decode(d, at, n)
}

func (l Lateness) encode() *node {
	if l.Unbounded {
		return newString(unbounded)
	}
	return l.For.encode()
}
