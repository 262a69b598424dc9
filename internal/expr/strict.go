package expr

import "github.com/pondage/pondage/internal/block"

// call is what the loop of a strict kernel works on: the argument columns, the output, and the rows to do, in none of
// which an argument is null.
type call struct {
	b       *batch
	sel     []int32
	args    []vec
	out     *scratch
	reasons reasons
}

// loop computes the rows c.sel of c.out. One dynamic call a batch, then a plain loop.
type loop func(c *call)

// fail makes row i null and notes its error. A string row must not be put as well.
func (c *call) fail(i int32, f fault) {
	c.out.setNull(c.b.rows, i)
	c.b.errors = append(c.b.errors, RowError{Row: i, Code: faultCodes[f], Reason: c.reasons.of(f)})
}

// null makes row i null without an error.
func (c *call) null(i int32) { c.out.setNull(c.b.rows, i) }

// strictKernel is an operation that gives null when an operand is null.
type strictKernel struct {
	typ  block.Type
	args []kernel
	loop loop
	call call
}

func (k *strictKernel) eval(b *batch, sel []int32) vec {
	c := &k.call
	for i, a := range k.args {
		c.args[i] = a.eval(b, sel)
	}
	c.b, c.out, c.sel = b, b.take(k.typ), sel
	nullable := false
	for _, a := range c.args {
		nullable = nullable || a.col.Null != nil
	}
	if nullable {
		c.sel = c.withoutNulls(sel)
	}
	k.loop(c)
	if nullable {
		b.releaseSel(c.sel)
	}
	for _, a := range c.args {
		b.release(a)
	}
	return c.out.vec(b.rows)
}

// withoutNulls makes the rows with a null argument null and returns the others.
func (c *call) withoutNulls(sel []int32) []int32 {
	live := append(c.b.takeSel(), sel...)
	for _, a := range c.args {
		nulls, mask := a.col.Null, a.mask
		if nulls == nil {
			continue
		}
		kept := live[:0]
		for _, i := range live {
			if nulls[i&mask] {
				c.out.setNull(c.b.rows, i)
			} else {
				kept = append(kept, i)
			}
		}
		live = kept
	}
	return live
}

// each makes a loop of a function for one row.
func each(row func(c *call, i int32) fault) loop {
	return func(c *call) {
		for _, i := range c.sel {
			if f := row(c, i); f != faultNone {
				c.fail(i, f)
			}
		}
	}
}

// eachText makes the loop of a function that appends the bytes of one row's result to dst. A row that fails leaves
// nothing behind.
func eachText(row func(c *call, dst []byte, i int32) ([]byte, fault)) loop {
	return func(c *call) {
		for _, i := range c.sel {
			c.out.open(i)
			start := len(c.out.col.Data)
			data, f := row(c, c.out.col.Data, i)
			if len(data)-start > MaxStringBytes || len(data) > maxColumnBytes {
				f = faultTooLong
			}
			if f != faultNone {
				c.out.col.Data = data[:start]
				c.fail(i, f)
				continue
			}
			c.out.col.Data = data
			c.out.shut(i)
		}
	}
}
