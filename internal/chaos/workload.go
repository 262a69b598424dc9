package chaos

import (
	"strconv"
	"strings"
	"time"

	"github.com/pondage/pondage/internal/batch"
)

// sourceName names the source and its topic.
const sourceName = "readings"

// Sink is a kind of output, as --sinks names it.
type Sink string

// The kinds of outputs. What is left out becomes the weaker one of the same system.
const (
	SinkUpsert                Sink = "upsert"
	SinkTransactionalPostgres Sink = "transactional-postgres"
	SinkTransactionalKafka    Sink = "transactional-kafka"
)

// Sinks lists all kinds.
func Sinks() []Sink { return []Sink{SinkUpsert, SinkTransactionalPostgres, SinkTransactionalKafka} }

// Query is a stream: what it computes, and where its results go.
type Query struct {
	Name  string
	Where func(reading) bool
	// Condition is Where as the stream has it.
	Condition string
	// Size and Step of its windows; zero: none.
	Size, Step time.Duration
	// ByTable groups by table; else a windowed query has one group, and one without windows stays where it was read.
	ByTable bool
	// Delay of the watermark.
	Delay   time.Duration
	Columns []Column
	// Postgres and Kafka are the deliveries; "" has none.
	Postgres, Kafka string
}

// Column is a column of a result.
type Column struct {
	batch.Column
	// Expr is the stream's expression; "": a part of the natural key that comes by itself.
	Expr string
	of   func(r reading, g *group) string
}

// The deliveries of INTERFACE §1.
const (
	deliveryUpsert        = "upsert"
	deliveryAtLeastOnce   = "at_least_once"
	deliveryTransactional = "transactional"
)

func column(name, expr string, typ batch.Type, of func(reading, *group) string) Column {
	return Column{Column: batch.Column{Name: name, Type: typ}, Expr: expr, of: of}
}

func keyColumn(name, expr string, typ batch.Type, of func(reading, *group) string) Column {
	c := column(name, expr, typ, of)
	c.Key = true
	return c
}

// The columns of windows.
var (
	columnTable = keyColumn("k", "tbname", batch.TypeText, func(r reading, _ *group) string { return strconv.Quote(r.table) })
	columnStart = keyColumn("at", "_wstart", batch.TypeTime, func(_ reading, g *group) string { return timeText(g.startMs) })
	aggregates  = []Column{
		column("n", "count(*)", batch.TypeInteger, func(_ reading, g *group) string { return wholeText(g.rows) }),
		column("nv", "count(v)", batch.TypeInteger, func(_ reading, g *group) string { return wholeText(g.vs) }),
		column("sv", "sum(v)", batch.TypeFloat, func(_ reading, g *group) string {
			return orNull(g.vs, func() string { return floatText(g.total(1)) })
		}),
		column("av", "avg(v)", batch.TypeFloat, func(_ reading, g *group) string {
			return orNull(g.vs, func() string { return floatText(g.total(g.vs)) })
		}),
		column("lv", "min(v)", batch.TypeFloat, func(_ reading, g *group) string {
			return orNull(g.vs, func() string { return floatText(g.least) })
		}),
		column("hv", "max(v)", batch.TypeFloat, func(_ reading, g *group) string {
			return orNull(g.vs, func() string { return floatText(g.most) })
		}),
		column("sw", "sum(w)", batch.TypeInteger, func(_ reading, g *group) string { return orNull(g.ws, g.wSum.String) }),
		column("lw", "last(w)", batch.TypeInteger, func(_ reading, g *group) string {
			return orNull(g.ws, func() string { return wholeText(*g.last.w) })
		}),
	}
)

// rows are the columns of streams without windows.
var rows = []Column{
	keyColumn("_partition", "", batch.TypeInteger, func(r reading, _ *group) string { return wholeText(int64(r.partition)) }),
	keyColumn("_offset", "", batch.TypeInteger, func(r reading, _ *group) string { return wholeText(r.offset) }),
	column("k", "tbname", batch.TypeText, func(r reading, _ *group) string { return strconv.Quote(r.table) }),
	column("at", "ts", batch.TypeTime, func(r reading, _ *group) string { return timeText(r.atMs) }),
	column("v", "v", batch.TypeFloat, func(r reading, _ *group) string {
		if r.v == nil {
			return "null"
		}
		return floatText(*r.v)
	}),
	column("w", "w", batch.TypeInteger, func(r reading, _ *group) string {
		if r.w == nil {
			return "null"
		}
		return wholeText(*r.w)
	}),
}

const (
	delay  = 5 * time.Second // more than disorder
	parted = wholes / 3      // where the streams without windows part the records
)

// Queries are the streams of a run.
func Queries(sinks []Sink) []Query {
	windowed := func(name string, size, step time.Duration, columns ...Column) Query {
		return Query{Name: name, Size: size, Step: step, ByTable: len(columns) > 1, Delay: delay, Columns: append(columns, aggregates...)}
	}
	upsert, postgres, kafka := deliveries(sinks)
	tumbling := windowed("tumbling", 10*time.Second, 10*time.Second, columnTable, columnStart)
	tumbling.Postgres, tumbling.Kafka = upsert, kafka
	sliding := windowed("sliding", 30*time.Second, 10*time.Second, columnTable, columnStart)
	sliding.Postgres, sliding.Kafka = postgres, kafka
	total := windowed("total", 5*time.Second, 5*time.Second, columnStart)
	total.Postgres = postgres
	chained := Query{
		Name: "chained", Columns: rows, Delay: delay, Postgres: upsert, Kafka: kafka,
		Condition: "w >= " + strconv.Itoa(parted), Where: func(r reading) bool { return r.w != nil && *r.w >= parted },
	}
	routed := Query{
		Name: "routed", Columns: rows, Delay: delay, ByTable: true, Postgres: postgres, Kafka: kafka,
		Condition: "w < " + strconv.Itoa(parted), Where: func(r reading) bool { return r.w != nil && *r.w < parted },
	}
	return []Query{tumbling, sliding, total, chained, routed}
}

// deliveries are those that the kinds of outputs come to.
func deliveries(sinks []Sink) (upsert, postgres, kafka string) {
	has := map[Sink]bool{}
	for _, s := range sinks {
		has[s] = true
	}
	upsert, postgres, kafka = deliveryUpsert, deliveryUpsert, deliveryAtLeastOnce
	if has[SinkTransactionalPostgres] {
		postgres = deliveryTransactional
		if !has[SinkUpsert] {
			upsert = deliveryTransactional
		}
	}
	if has[SinkTransactionalKafka] {
		kafka = deliveryTransactional
	}
	return upsert, postgres, kafka
}

// edges tells whether blocks of the stream go through a topic.
func (q Query) edges() bool { return q.Size > 0 || q.ByTable }

func (q Query) values(r reading, g *group) []string {
	out := make([]string, len(q.Columns))
	for i, c := range q.Columns {
		out[i] = c.of(r, g)
	}
	return out
}

// key is what tells rows apart.
func (q Query) key(row []string) string {
	var parts []string
	for i, c := range q.Columns {
		if c.Key {
			parts = append(parts, c.Name+"="+row[i])
		}
	}
	return strings.Join(parts, " ")
}

type object = map[string]any

// sourceSpec declares the records.
func sourceSpec() object {
	return object{
		"name": sourceName, "format": "json", "kafka": object{"topic": sourceName}, "table": "k", "event_time": "ts",
		"max_future": nil, // event times are fixed
		"columns":    []any{object{"name": "v", "type": "float64"}, object{"name": "w", "type": "int64"}},
	}
}

const (
	checkpointEvery = time.Second
	// patientRestarts is more than a run can cause: being given up is not what is tested here.
	patientRestarts = 1000
)

// spec declares the stream, from the first record on. No partition is ever idle: what is late would depend on how long a
// fault lasts.
func (q Query) spec() object {
	var items []any
	for _, c := range q.Columns {
		if c.Expr != "" {
			items = append(items, object{"expr": c.Expr, "as": c.Name})
		}
	}
	outputs := object{}
	if q.Postgres != "" {
		outputs["postgres"] = object{"table": q.Name, "delivery": q.Postgres}
	}
	if q.Kafka != "" {
		outputs["kafka"] = object{"topic": q.Name, "delivery": q.Kafka}
	}
	out := object{
		"name": q.Name, "source": sourceName, "start": "earliest", "select": items,
		"watermark": durationText(q.Delay), "idle_timeout": "1h", "close_idle_after": "0s", "outputs": outputs, "results": object{"retain": "0s"},
		"checkpoint_interval": durationText(checkpointEvery), "max_restarts": patientRestarts,
	}
	if q.Condition != "" {
		out["where"] = q.Condition
	}
	if q.ByTable {
		out["partition_by"] = []string{"tbname"}
	}
	if q.Size > 0 {
		window := object{"kind": "interval", "size": durationText(q.Size)}
		if q.Step != q.Size {
			window["sliding"] = durationText(q.Step)
		}
		out["window"], out["trigger"] = window, "window_close"
	}
	return out
}

// durationText is a duration as specs spell it.
func durationText(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }
