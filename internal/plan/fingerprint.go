package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/sql"
)

// fingerprintVersion changes when the text below does.
const fingerprintVersion = "plan/1"

// Fingerprint identifies what the stream computes: equal for equal queries, whatever language they were written in. It
// does not cover where results go, limits and checkpoints, which may change under a running state. 64 hex digits.
func (p *Plan) Fingerprint() string {
	var b strings.Builder
	line := func(key string, values ...any) { fmt.Fprintf(&b, "%s %q\n", key, fmt.Sprint(values...)) }
	line("version", fingerprintVersion)
	line("source", p.Source.Name)
	line("record", p.Source.Format, " ", p.Source.Table, " ", p.Source.EventTime.Path, " ", p.Source.EventTime.Unit)
	for i, f := range p.Input.Schema[:p.Input.Declared] {
		line("column", f.Name, " ", f.Type, " ", p.Source.Columns[i].At())
	}
	line("where", canonical(p.Where))
	for _, k := range p.Keys {
		line("key", canonical(k.Expr))
	}
	line("subtable", canonical(p.Subtable), " ", p.Naming(), " ", p.Affix)
	line("window", p.windowText())
	for _, a := range p.Aggs {
		line("aggregate", a.Kind, " ", a.Arg)
	}
	for _, a := range p.argNames {
		line("argument", a)
	}
	for i, c := range p.Result.Columns {
		line("result", c.Name, " ", c.Type, " ", c.Role, " ", canonical(p.Select[i]))
	}
	line("trigger", p.Trigger)
	line("time", p.Settings.Watermark, " ", p.Settings.LateBy, " ", p.Settings.Lateness, " ", p.Settings.TableTTL)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// canonical is the text of an expression that is the same for equal trees; "" for none.
func canonical(t *expr.Typed) string {
	if t == nil {
		return ""
	}
	return sql.Format(t.Expr())
}

// windowText describes the window in the words of SQL; "" without one.
func (p *Plan) windowText() string {
	if p.Window == nil {
		return ""
	}
	w := p.Window
	text := "INTERVAL(" + w.Size.String()
	if w.Offset.N != 0 {
		text += ", " + w.Offset.String()
	}
	text += ")"
	if w.Slide.N != 0 && w.Slide != w.Size {
		text += " SLIDING(" + w.Slide.String() + ")"
	}
	if p.Stream.Window.WeekStart != "" && w.WeekStart != 0 {
		text += " week_start " + p.Stream.Window.WeekStart
	}
	return text + " TIMEZONE '" + p.zone.String() + "'"
}
