package expr

import "github.com/pondage/pondage/internal/block"

// caseKernel is the searched CASE: thens[k] is evaluated only for the rows whose first true condition is conds[k], the
// last of thens (ELSE) for those without one.
type caseKernel struct {
	typ          block.Type
	conds, thens []kernel
	values       []vec
}

func (k *caseKernel) eval(b *batch, sel []int32) vec {
	chosen := b.takeSel()[:b.rows]
	rest := append(b.takeSel(), sel...)
	taken := b.takeSel()
	for n, cond := range k.conds {
		c := cond.eval(b, rest)
		taken = taken[:0]
		left := rest[:0]
		for _, i := range rest {
			if !c.null(i) && c.col.Bool[i&c.mask] {
				chosen[i] = int32(n)
				taken = append(taken, i)
			} else {
				left = append(left, i)
			}
		}
		rest = left
		b.release(c)
		k.values[n] = k.thens[n].eval(b, taken)
	}
	last := len(k.conds)
	for _, i := range rest {
		chosen[i] = int32(last)
	}
	k.values[last] = k.thens[last].eval(b, rest)
	out := gather(b, k.typ, sel, chosen, k.values)
	b.releaseSel(taken)
	b.releaseSel(rest)
	b.releaseSel(chosen)
	return out
}

// coalesceKernel takes the first argument that is not null; later ones are evaluated only for the rows still null.
type coalesceKernel struct {
	typ    block.Type
	args   []kernel
	values []vec
}

func (k *coalesceKernel) eval(b *batch, sel []int32) vec {
	chosen := b.takeSel()[:b.rows]
	rest := append(b.takeSel(), sel...)
	for n, a := range k.args {
		v := a.eval(b, rest)
		k.values[n] = v
		left := rest[:0]
		for _, i := range rest {
			chosen[i] = int32(n)
			if v.null(i) {
				left = append(left, i)
			}
		}
		rest = left
	}
	out := gather(b, k.typ, sel, chosen, k.values)
	b.releaseSel(rest)
	b.releaseSel(chosen)
	return out
}

// gather makes a column of values[chosen[i]] at each row and gives the values back.
func gather(b *batch, t block.Type, sel, chosen []int32, values []vec) vec {
	out := b.take(t)
	for _, i := range sel {
		v := values[chosen[i]]
		if v.null(i) {
			out.setNull(b.rows, i)
			continue
		}
		switch t.Kind {
		case block.KindBool:
			out.col.Bool[i] = v.col.Bool[i&v.mask]
		case block.KindInt64, block.KindTimestamp:
			out.col.Int[i] = v.col.Int[i&v.mask]
		case block.KindFloat64:
			out.col.Float[i] = v.col.Float[i&v.mask]
		case block.KindDecimal:
			out.col.Dec[i] = v.col.Dec[i&v.mask]
		case block.KindString, block.KindJSON:
			out.put(i, v.bytes(i))
		case block.KindInvalid:
		}
	}
	for _, v := range values {
		b.release(v)
	}
	return out.vec(b.rows)
}

// extremeKernel is GREATEST (sign +1) or LEAST (sign −1): nulls are passed over, all null gives null.
type extremeKernel struct {
	typ    block.Type
	sign   int
	args   []kernel
	values []vec
}

func (k *extremeKernel) eval(b *batch, sel []int32) vec {
	for n, a := range k.args {
		k.values[n] = a.eval(b, sel)
	}
	chosen := b.takeSel()[:b.rows]
	for _, i := range sel {
		best := 0
		for n := 1; n < len(k.values); n++ {
			if k.better(n, best, i) {
				best = n
			}
		}
		chosen[i] = int32(best)
	}
	out := gather(b, k.typ, sel, chosen, k.values)
	b.releaseSel(chosen)
	return out
}

// better tells whether argument n goes before the best so far in row i.
func (k *extremeKernel) better(n, best int, i int32) bool {
	v, w := k.values[n], k.values[best]
	if v.null(i) || w.null(i) {
		return w.null(i) && !v.null(i)
	}
	return compareAt(v.col, i&v.mask, w.col, i&w.mask)*k.sign > 0
}
