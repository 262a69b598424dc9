package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Query is a windowed aggregation that can be measured.
type Query struct {
	Name string
	Size time.Duration
	Step time.Duration // from one window's start to the next; Size for tumbling windows
	// Records is how many are read where nothing is said: a few seconds' work for the peers.
	Records int64
	// Trigger says when a window's results are told.
	Trigger string
}

// Triggers, as specs spell them.
const (
	onClose = "window_close"
	atOnce  = "at_once"
)

// queries are those of the peer benchmarks.
var queries = []Query{
	{Name: "tumbling", Size: 10 * time.Second, Step: 10 * time.Second, Records: 5_000_000, Trigger: onClose},
	{Name: "sliding", Size: time.Minute, Step: time.Second, Records: 1_000_000, Trigger: onClose},
}

func queryNamed(name string) (Query, error) {
	if i := slices.IndexFunc(queries, func(q Query) bool { return q.Name == name }); i >= 0 {
		return queries[i], nil
	}
	return Query{}, fmt.Errorf("unknown query %q", name)
}

const (
	sourceName = "bench"
	delay      = "2s" // of the watermark, as at the peers
)

// sourceSpec declares every member of the records, as the peers do: the device is the table's name.
func sourceSpec(topic string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"name": sourceName, "format": "json", "kafka": map[string]any{"topic": topic},
		"table": "device", "event_time": "ts",
		// The records' event times are fixed: a machine whose clock is behind them measures the same.
		"max_future": nil,
		"columns": []map[string]string{
			{"name": "temp", "type": "float64"},
			{"name": "hum", "type": "int64"},
			{"name": "status", "type": "string"},
		},
	})
}

// reach says which records a stream reads.
type reach struct{ start, until string }

var (
	allRecords = reach{"earliest", "latest"} // from the first to the present last
	forEver    = reach{"latest", ""}         // what comes from now on
)

// streamSpec writes the results to out, a topic or a table.
func (q Query) streamSpec(name, out string, over reach, to Sink) ([]byte, error) {
	window := map[string]string{"kind": "interval", "size": durationText(q.Size)}
	if q.Step != q.Size {
		window["sliding"] = durationText(q.Step)
	}
	output := map[string]string{"topic": out, "delivery": to.Delivery}
	if to.Kind == SinkPostgres {
		output = map[string]string{"table": out, "delivery": to.Delivery}
	}
	text := map[string]any{
		"name": name, "source": sourceName, "start": over.start,
		"select": []map[string]string{
			{"expr": "tbname", "as": "device"},
			{"expr": "_wstart", "as": "wstart"},
			{"expr": "_wend", "as": "wend"},
			{"expr": "count(*)", "as": "cnt"},
			{"expr": "sum(temp)", "as": "sum"},
			{"expr": "avg(temp)", "as": "avg"},
			{"expr": "min(temp)", "as": "min"},
			{"expr": "max(temp)", "as": "max"},
		},
		"partition_by": []string{"tbname"}, "window": window, "trigger": q.Trigger, "watermark": delay,
		"outputs": map[string]any{to.Kind: output}, "checkpoint_interval": durationText(to.interval()),
		// Kafka to Kafka, like the peers: no result table beside the topic.
		"results": map[string]string{"retain": "0s"},
	}
	if over.until != "" {
		text["until"] = over.until
	}
	return json.Marshal(text)
}

// durationText is a duration as specs spell it: one number, one unit.
func durationText(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
