// Package planning fills control's Planner seam with internal/spec and internal/plan.
//
// It owns: the translation between their words and control's. It does not own: any rule about documents. It does no I/O.
package planning

import (
	"github.com/pondage/pondage/internal/checkpoint"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// Planner plans for one cluster.
type Planner struct{ Env plan.Env }

var _ control.Planner = Planner{}

// Source checks a source document.
func (p Planner) Source(doc []byte) (control.SourcePlan, error) {
	src, err := spec.ParseSource(doc)
	if err != nil {
		return control.SourcePlan{}, err
	}
	if _, err := plan.BuildInput(src); err != nil {
		return control.SourcePlan{}, err
	}
	return control.SourcePlan{Name: src.Name, Doc: src.Canonical(), Topic: topicOf(src)}, nil
}

func topicOf(src *spec.Source) control.TopicRef {
	return control.TopicRef{Topic: src.Kafka.Topic, Brokers: src.Kafka.Brokers, Source: src.Canonical()}
}

// Stream checks the form of a stream document.
func (p Planner) Stream(doc []byte) (control.StreamHead, error) {
	st, err := spec.ParseStream(doc)
	if err != nil {
		return control.StreamHead{}, err
	}
	return control.StreamHead{Name: st.Name, Source: st.Source, Doc: st.Canonical()}, nil
}

func (p Planner) build(source, stream []byte) (*plan.Plan, error) {
	src, err := spec.ParseSource(source)
	if err != nil {
		return nil, err
	}
	st, err := spec.ParseStream(stream)
	if err != nil {
		return nil, err
	}
	return plan.Build(src, st, p.Env)
}

// Plan checks a stream against its source.
func (p Planner) Plan(source, stream []byte) (control.StreamPlan, error) {
	built, err := p.build(source, stream)
	if err != nil {
		return control.StreamPlan{}, err
	}
	out := control.StreamPlan{Topic: topicOf(built.Source), Start: position(built.Start)}
	if built.Until != nil {
		until := position(*built.Until)
		out.Until = &until
	}
	if pg := built.Stream.Outputs.Postgres; pg != nil {
		out.Targets = append(out.Targets, control.Target{Kind: control.TargetPostgres, Name: pg.Table})
	}
	if k := built.Stream.Outputs.Kafka; k != nil {
		out.Targets = append(out.Targets, control.Target{Kind: control.TargetKafka, Name: k.Topic})
	}
	return out, nil
}

// kinds are control's names of the kinds of positions.
var kinds = map[spec.PositionKind]control.PositionKind{
	spec.AtEarliest: control.PositionEarliest,
	spec.AtLatest:   control.PositionLatest,
	spec.AtTime:     control.PositionTime,
	spec.AtOffsets:  control.PositionOffsets,
}

func position(p spec.Position) control.Position {
	return control.Position{Kind: kinds[p.Kind], Time: ident.EventMs(p.Time), Offsets: p.Offsets}
}

func transactional(o spec.Outputs) bool {
	return (o.Postgres != nil && o.Postgres.Delivery == spec.DeliveryTransactional) || (o.Kafka != nil && o.Kafka.Delivery == spec.DeliveryTransactional)
}

// Layout lists the tasks and edges of a stream over the partitions 0 … n−1 of its topic.
func (p Planner) Layout(source, stream []byte, id ident.StreamID, partitions []ident.Partition) (control.Layout, error) {
	built, err := p.build(source, stream)
	if err != nil {
		return control.Layout{}, err
	}
	graph := built.Graph(id, len(partitions))
	out := control.Layout{
		MaxRestarts:  int(built.Settings.MaxRestarts),
		StartTimeout: built.Settings.StartTimeout,
		Checkpoints: checkpoint.Settings{
			IntervalMs: ident.MonoMs(built.Settings.CheckpointInterval.Milliseconds()), TimeoutMs: ident.MonoMs(built.Settings.CheckpointTimeout.Milliseconds()),
			Retain: int(built.Settings.RetainCheckpoints), MaxFailed: int(built.Settings.MaxFailedCheckpoints),
		},
		Transactional: transactional(built.Stream.Outputs),
	}
	for _, t := range graph.Tasks {
		out.Tasks = append(out.Tasks, t.Task)
	}
	for _, e := range graph.Edges {
		out.Edges = append(out.Edges, e.Into)
	}
	return out, nil
}
