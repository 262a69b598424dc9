package plan

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/manifest"
)

// Operator names the windowed operator and its accumulators, so that a restore finds their state (DESIGN §10): the
// operator by its kind, keys and window, an accumulator by its function and argument, each in canonical form. ok is false for
// a stream without window. An accumulator's place is that of its aggregate; arguments are numbered in the order in which they
// are met there first, which package state relies on.
func (p *Plan) Operator() (o manifest.Operator, ok bool) {
	if !p.Windowed() {
		return manifest.Operator{}, false
	}
	keys := make([]string, len(p.Keys))
	for i, k := range p.Keys {
		keys[i] = fmt.Sprintf("%s %s", canonical(k.Expr), k.Expr.Type())
	}
	o.ID = fmt.Sprintf("aggregate [%s] %s", strings.Join(keys, ", "), p.windowText())
	for _, a := range p.Aggs {
		arg := "*"
		if a.Arg >= 0 {
			arg = fmt.Sprintf("%s %s", p.argNames[a.Arg], a.ArgType)
		}
		o.Accumulators = append(o.Accumulators, fmt.Sprintf("%s(%s)", a.Kind.Name(), arg))
	}
	return o, true
}
