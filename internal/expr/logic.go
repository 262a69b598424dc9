package expr

import "github.com/pondage/pondage/internal/block"

// logicKernel is three-valued AND (decided: false) or OR (decided: true). The right side is evaluated only for the rows
// that the left side does not decide.
type logicKernel struct {
	l, r    kernel
	decided bool
}

func (k *logicKernel) eval(b *batch, sel []int32) vec {
	l := k.l.eval(b, sel)
	out := b.take(block.Bool)
	rest := b.takeSel()
	values, nulls, mask := l.col.Bool, l.col.Null, l.mask
	for _, i := range sel {
		out.col.Bool[i] = k.decided
		if values[i&mask] != k.decided || nulls != nil && nulls[i&mask] {
			rest = append(rest, i)
		}
	}
	r := k.r.eval(b, rest)
	for _, i := range rest {
		switch {
		case !r.null(i) && r.col.Bool[i&r.mask] == k.decided:
		case r.null(i) || l.null(i):
			out.setNull(b.rows, i)
		default:
			out.col.Bool[i] = !k.decided
		}
	}
	b.releaseSel(rest)
	b.release(l)
	b.release(r)
	return out.vec(b.rows)
}

// notLoop is NOT.
func notLoop(c *call) {
	a, out := c.args[0], c.out.col.Bool
	for _, i := range c.sel {
		out[i] = !a.col.Bool[i&a.mask]
	}
}

// isNullKernel is IS NULL (null: true) and IS NOT NULL (null: false). It is never null.
type isNullKernel struct {
	x    kernel
	null bool
}

func (k *isNullKernel) eval(b *batch, sel []int32) vec {
	x := k.x.eval(b, sel)
	out := b.take(block.Bool)
	for _, i := range sel {
		out.col.Bool[i] = x.null(i) == k.null
	}
	b.release(x)
	return out.vec(b.rows)
}
