package planning

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

const source = `
kind: source
name: flights
format: json
kafka: {topic: flights, brokers: ["k:9092"]}
table: origin
event_time: ts
columns:
  - {name: delay, type: int64}
  - {name: origin, type: string}
`

const stream = `
kind: stream
name: flights_1h
source: flights
until: latest
select: [{expr: tbname}, {expr: count(*), as: n}]
partition_by: [tbname]
window: {kind: interval, size: 1h}
start_timeout: 5s
max_restarts: 2
outputs: {postgres: {table: flights_1h}, kafka: {topic: out}}
`

var planner = Planner{Env: plan.Env{Cluster: "c", VGroups: 4, Zone: time.LoadLocation}}

func TestDocumentsBecomePlans(t *testing.T) {
	t.Parallel()
	src, err := planner.Source([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if src.Name != "flights" || src.Topic.Topic != "flights" || !cmp.Equal(src.Topic.Brokers, []string{"k:9092"}) {
		t.Fatalf("%+v", src)
	}
	if again, err := planner.Source(src.Doc); err != nil || string(again.Doc) != string(src.Doc) {
		t.Fatalf("the canonical form is not stable: %s, %v", again.Doc, err)
	}
	head, err := planner.Stream([]byte(stream))
	if err != nil || head.Name != "flights_1h" || head.Source != "flights" {
		t.Fatalf("%+v, %v", head, err)
	}
	p, err := planner.Plan(src.Doc, head.Doc)
	if err != nil {
		t.Fatal(err)
	}
	want := control.StreamPlan{
		Topic: src.Topic, Start: control.Position{Kind: control.PositionEarliest}, Until: &control.Position{Kind: control.PositionLatest},
		Targets: []control.Target{{Kind: control.TargetPostgres, Name: "flights_1h"}, {Kind: control.TargetKafka, Name: "out"}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Fatal(diff)
	}
	l, err := planner.Layout(src.Doc, head.Doc, 7, []ident.Partition{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Tasks) != 2+4 || !cmp.Equal(l.Edges, []ident.Level{ident.LevelAgg}) || l.MaxRestarts != 2 || l.StartTimeout != 5*time.Second {
		t.Fatalf("%+v", l)
	}
}

func TestFaultsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	src, err := planner.Source([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	head, err := planner.Stream([]byte("name: x\nsource: flights\nselect: [{expr: speed}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = planner.Plan(src.Doc, head.Doc)
	var faults *invalid.Error
	if !errors.As(err, &faults) || faults.Details[0].Pointer != "/select/0/expr" {
		t.Fatalf("%v", err)
	}
	if _, err := planner.Source([]byte("name: x\nforamt: json\n")); !errors.As(err, &faults) {
		t.Fatalf("%v", err)
	}
}
