package cli

import (
	"fmt"
	"strings"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/render"
)

// streamPage shows a stream for people, what matters first.
func (a *app) streamPage(s api.Stream) error {
	g := render.Grid{}
	g.Add("name", s.Name)
	g.Add("source", s.Source)
	g.Add("state", stateOf(s))
	if s.Error != nil {
		g.Add("error", s.Error.Code+": "+s.Error.Message)
	}
	if s.Waiting != nil {
		g.Add("waits for", *s.Waiting)
	}
	g.Add("stage", s.Stage.String())
	g.Add("checkpoint", checkpointOf(s.Checkpoints))
	g.Add("watermark", watermarkOf(s))
	g.Add("lag", render.Count(int64(s.Lag), "record"))
	g.Add("rate", fmt.Sprintf("%.0f records/s", s.RecordsPerSecond))
	n := s.Counters
	g.Add("accepted", fmt.Sprintf("%s = counted %s + filtered %s + no window %s + late %s + dead letters %s",
		n.Accepted, n.Counted, n.Filtered, n.NoWindow, n.Late, n.DeadLettered))
	g.Add("created", moment(&s.CreatedAt))
	for _, o := range outputs(s) {
		g.Add(o.name, describe(o.Output))
	}
	if err := a.grid(g); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	if err := a.grid(partitions(s)); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	if err := a.grid(columns(s.Outputs.HTTP)); err != nil {
		return err
	}
	return a.section("spec", s.Spec)
}

// stateOf is the state, and the wanted one where it is another.
func stateOf(s api.Stream) string {
	if s.Wanted == s.State || s.State == "finished" || s.State == "failed" {
		return s.State
	}
	return s.State + ", wanted " + s.Wanted
}

// checkpointOf is what the stream would go on from.
func checkpointOf(c api.StreamCheckpoints) string {
	text := "none is complete"
	if c.Complete != nil {
		text = c.Complete.String()
	}
	if c.FailedInRow > 0 {
		text += fmt.Sprintf(", %d have failed since", c.FailedInRow)
	}
	return text
}

func watermarkOf(s api.Stream) string {
	if s.Ended {
		return "ended: every window is closed"
	}
	return moment(s.Watermark)
}

type namedOutput struct {
	name string
	api.Output
}

func outputs(s api.Stream) []namedOutput {
	var all []namedOutput
	if s.Outputs.Postgres != nil {
		all = append(all, namedOutput{"postgres", *s.Outputs.Postgres})
	}
	if s.Outputs.Kafka != nil {
		all = append(all, namedOutput{"kafka", *s.Outputs.Kafka})
	}
	if s.Outputs.Webhook != nil {
		all = append(all, namedOutput{"webhook", *s.Outputs.Webhook})
	}
	return all
}

func describe(o api.Output) string {
	parts := []string{o.Target, o.Delivery}
	if o.Status != "" {
		parts = append(parts, o.Status)
	}
	return strings.Join(parts, ", ")
}

func partitions(s api.Stream) render.Grid {
	g := render.Grid{Columns: []string{"partition", "next", "until", "lag", "watermark", "accepted", "late", "dead", "state"}}
	for _, p := range s.Partitions {
		until, lag, state := "-", "-", "reads"
		if p.Until != nil {
			until = p.Until.String()
		}
		if p.Lag != nil {
			lag = p.Lag.String()
		}
		switch {
		case p.Done:
			state = "done"
		case p.Idle:
			state = "idle"
		}
		g.Add(fmt.Sprintf("%s/%d", p.Topic, p.Partition), p.Next.String(), until, lag, moment(p.Watermark),
			p.Counters.Accepted.String(), p.Counters.Late.String(), p.Counters.DeadLettered.String(), state)
	}
	return g
}

func columns(o api.Output) render.Grid {
	g := render.Grid{Columns: []string{"column", "type", "role"}}
	for _, c := range o.Schema {
		g.Add(c.Name, c.Type, c.Role)
	}
	return g
}

// graphPage shows the levels in order, each with the edges out of it.
func (a *app) graphPage(graph api.Graph) error {
	g := render.Grid{Columns: []string{"level", "tasks", "sends to", "topic"}}
	for _, l := range graph.Levels {
		to, topic := "-", "-"
		if l.Sinks {
			to = "sinks"
		}
		for _, e := range graph.Edges {
			if e.From == l.Level {
				to, topic = fmt.Sprintf("%s (%s)", e.To, e.Kind), e.Topic
			}
		}
		g.Add(l.Level, strings.Join(l.Tasks, " "), to, topic)
	}
	return a.grid(g)
}
