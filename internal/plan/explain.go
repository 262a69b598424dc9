package plan

import (
	"fmt"
	"strings"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/spec"
)

// Explain describes the plan for people: what is read, computed and written, with defaults filled in.
func (p *Plan) Explain() string {
	e := &explainer{}
	e.line("stream", "%s", p.Stream.Name)
	e.line("source", "%s (%s)", p.Source.Name, p.sourceText())
	e.line("start", "%s", positionText(p.Start))
	if p.Until != nil {
		e.line("until", "%s", positionText(*p.Until))
	}
	if p.Where != nil {
		e.line("where", "%s", canonical(p.Where))
	}
	for _, k := range p.Keys {
		e.line("group by", "%s %s", canonical(k.Expr), k.Expr.Type())
	}
	if p.Subtable != nil {
		e.line("subtable", "%s", canonical(p.Subtable))
	}
	p.explainWindow(e)
	for _, c := range p.Result.Columns {
		e.line("result", "%s %s%s", c.Name, c.Type, keyMark(c.Role))
	}
	e.line("natural key", "%s", strings.Join(p.Result.KeyNames(), ", "))
	p.explainOutputs(e)
	return e.String()
}

type explainer struct{ strings.Builder }

// line writes a name and what it is; a name that repeats is written once.
func (e *explainer) line(name, format string, args ...any) {
	const nameWidth = 14
	fmt.Fprintf(e, "%-*s%s\n", nameWidth, name, fmt.Sprintf(format, args...))
}

func (p *Plan) sourceText() string {
	if p.Source.Kafka == nil {
		return string(p.Source.Format)
	}
	return fmt.Sprintf("%s from Kafka topic %s", p.Source.Format, p.Source.Kafka.Topic)
}

func (p *Plan) explainWindow(e *explainer) {
	if !p.Windowed() {
		return
	}
	e.line("window", "%s", p.windowText())
	for _, a := range p.Aggs {
		e.line("aggregate", "%s %s", p.aggregateText(a), a.Out())
	}
	e.line("trigger", "%s", p.Trigger)
	late := "allowed lateness " + p.Settings.Lateness.For.String()
	if p.Settings.Lateness.Unbounded {
		late = "unbounded lateness"
	}
	e.line("time", "watermark %s, late by %s, %s, idle after %s, close idle after %s", p.Settings.Watermark, p.Settings.LateBy, late, p.Settings.IdleTimeout, p.Settings.CloseIdleAfter)
}

func (p *Plan) aggregateText(a agg.Spec) string {
	if a.Kind == agg.KindRows {
		return "count(*)"
	}
	for _, f := range agg.Functions() {
		if f.Kind == a.Kind {
			return f.Name + "(" + p.argNames[a.Arg] + ")"
		}
	}
	panic(fmt.Sprintf("plan: aggregate of kind %d has no function", a.Kind))
}

func (p *Plan) explainOutputs(e *explainer) {
	if out := p.Stream.Outputs.Postgres; out != nil {
		e.line("output", "Postgres table %s, %s", out.Table, deliveryOr(out.Delivery, spec.DeliveryUpsert))
	}
	if out := p.Stream.Outputs.Kafka; out != nil {
		e.line("output", "Kafka topic %s, %s", out.Topic, deliveryOr(out.Delivery, spec.DeliveryAtLeastOnce))
	}
	if w := p.Webhook; w != nil {
		e.line("output", "webhook %s, on %s", w.Address(), webhookEvents(w))
	}
	e.line("output", "HTTP results")
}

func deliveryOr(d, byDefault spec.Delivery) spec.Delivery {
	if d == "" {
		return byDefault
	}
	return d
}

func keyMark(r Role) string {
	if r == RoleValue {
		return ""
	}
	return " (" + r.String() + ")"
}

func positionText(p spec.Position) string {
	switch p.Kind {
	case spec.AtTime:
		return p.Time.String()
	case spec.AtOffsets:
		return fmt.Sprintf("offsets of %d partitions", len(p.Offsets))
	}
	return string(p.Kind)
}

func webhookEvents(w *Webhook) string {
	switch {
	case w.Open && w.Close:
		return "open and close"
	case w.Open:
		return "open"
	}
	return "close"
}
