package stage

import (
	"context"
	"fmt"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/sink"
)

// outputs opens the sinks of a run's tasks.
type outputs struct {
	run  *Run
	plan *plan.Plan
	hub  *connect.Hub
}

// open returns the sinks of a task. They need not be reachable; what is wrong with a spec is an error.
func (o *outputs) open(ctx context.Context, t ident.Task, a *aside) (chain sink.Chain, err error) {
	defer func() {
		if err != nil {
			chain.Close()
			chain = nil
		}
	}()
	reject := func(r sink.Rejected) error {
		row := rowjson.NewEncoder(r.Rows.Schema).AppendRow(nil, r.Rows.Cols, r.Row)
		return a.DeadResult(ctx, t.VGroup, row, codePoison, r.Reason)
	}
	if table, dsn, ok := ResultTable(o.plan, o.run.id); ok {
		pool, err := o.hub.Postgres(dsn)
		if err != nil {
			return chain, planError{err}
		}
		fence := pgtable.Fence{Cluster: o.run.engine.cluster.Name, Stream: o.run.id, VGroup: t.VGroup, Stage: o.run.stage}
		chain = append(chain, sink.NewPostgres(pool, table, fence, reject))
	}
	if out := o.plan.Stream.Outputs.Kafka; out != nil {
		k, err := o.hub.Kafka(out.Connection)
		if err != nil {
			return chain, planError{err}
		}
		topic, err := k.Client.Topic(ctx, out.Topic)
		if err != nil {
			return chain, err
		}
		q, err := k.Producer.Open(ctx, out.Topic, ident.Partition(int(t.VGroup)%len(topic.Partitions)), kafka.QueueOptions{Mode: kafka.RetryItself})
		if err != nil {
			return chain, err
		}
		chain = append(chain, sink.NewKafka(q, o.plan.Result.Fields(), o.plan.Result.Key))
	}
	return chain, nil
}

// codePoison is the code of a result that a sink will never take.
const codePoison = "poison_row"

// ResultsSchema is the Postgres schema of the tables that streams without a Postgres output keep their results in.
const ResultsSchema = "pondage"

// OwnTable is the table that a stream without a Postgres output keeps its results in. It is named by the stream's id, so
// that a stream made again begins with an empty one.
func OwnTable(id ident.StreamID) *pgtable.Table {
	return &pgtable.Table{Schema: ResultsSchema, Name: fmt.Sprintf("results_%d", id)}
}

// ResultTable is the table that holds the results of a stream: its Postgres output, or a table of its own, whose rows
// expire. dsn nil is the cluster's database. ok is false when the stream keeps none (results.retain 0).
func ResultTable(p *plan.Plan, id ident.StreamID) (t *pgtable.Table, dsn *spec.SecretRef, ok bool) {
	columns, key := p.Result.Fields(), p.Result.KeyNames()
	if out := p.Stream.Outputs.Postgres; out != nil {
		return pgtable.Of(out.Table, columns, key), out.DSN, true
	}
	if p.Settings.Retain == 0 {
		return nil, nil, false
	}
	t = OwnTable(id)
	t.Columns, t.Key, t.Retain = columns, key, p.Settings.Retain
	return t, nil, true
}
