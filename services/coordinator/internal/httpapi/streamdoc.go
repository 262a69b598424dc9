package httpapi

import (
	"encoding/json"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/language"
)

// streamDoc is a stream in the form of the API.
func (h *handler) streamDoc(s control.Stream) api.Stream {
	return api.Stream{
		ID: common.Int64(s.ID), Name: s.Name, Source: sourceName(s.Spec), State: string(s.State), Wanted: string(s.Wanted),
		Stage: common.Int64(s.Stage), Generation: common.Int64(s.Generation), Restarts: int32(s.Restarts),
		Spec: s.Spec, SourceSpec: s.Source, Outputs: h.outputs(s), Counters: countersDoc(s.Progress.Counters),
		Partitions: partitionDocs(s), Watermark: eventTime(s.Progress.Watermark), Ended: s.Progress.Ended, Lag: common.Int64(s.Progress.Lag),
		RecordsPerSecond: s.Progress.RecordsPerSecond, Error: causeDoc(s.Cause), Waiting: orNull(s.Waiting), Start: startDoc(s.Start),
		Checkpoints: api.StreamCheckpoints{
			Complete: checkpointOrNull(s.Checkpoints.Complete), Settled: checkpointOrNull(s.Checkpoints.Settled), Restored: checkpointOrNull(s.Checkpoints.Start),
			FailedInRow: int32(s.Checkpoints.Failed),
		},
		CreatedAt: s.Created, UpdatedAt: s.Updated,
	}
}

// checkpointOrNull is null for "before the first one".
func checkpointOrNull(id ident.CheckpointID) *common.Int64 { return orNull(common.Int64(id)) }

// sourceName reads the source's name from a canonical stream document.
func sourceName(doc []byte) string {
	var s struct {
		Source string `json:"source"`
	}
	_ = json.Unmarshal(doc, &s) // canonical: control has checked it
	return s.Source
}

// outputs says where results go and what they look like. A stream that this version does not understand (it was made by
// another one) is shown without a schema rather than not at all.
func (h *handler) outputs(s control.Stream) api.Outputs {
	understood, err := h.Language.Stream(s.Source, s.Spec)
	if err != nil {
		return api.Outputs{HTTP: outputDoc(language.Target{}, nil, nil)}
	}
	columns, key := understood.Columns(), understood.NaturalKey()
	out := api.Outputs{HTTP: outputDoc(language.Target{}, columns, key)}
	if t, ok := understood.Postgres(); ok {
		o := outputDoc(t, columns, key)
		out.Postgres = &o
	}
	if t, ok := understood.Kafka(); ok {
		o := outputDoc(t, columns, key)
		out.Kafka = &o
	}
	if t, ok := understood.Webhook(); ok {
		o := outputDoc(t, columns, key)
		out.Webhook = &o
	}
	return out
}

func outputDoc(t language.Target, columns []language.Column, key []string) api.Output {
	return api.Output{Target: t.Name, Delivery: t.Delivery, Schema: convert(columns, columnDoc), NaturalKey: convert(key, same)}
}

func columnDoc(c language.Column) api.ResultColumn {
	return api.ResultColumn{Name: c.Name, Type: c.Type, Role: c.Role}
}

func same[T any](v T) T { return v }

func countersDoc(c control.Counters) common.Counters {
	return common.Counters{
		Accepted: common.Int64(c.Accepted()), Counted: common.Int64(c.Counted), Filtered: common.Int64(c.Filtered), NoWindow: common.Int64(c.NoWindow),
		Late: common.Int64(c.Late), DeadLettered: common.Int64(c.DeadLettered),
	}
}

// partitionDocs joins the bounds of the partitions with how far they are.
func partitionDocs(s control.Stream) []api.SourcePartition {
	type at struct {
		topic     string
		partition ident.Partition
	}
	progress := make(map[at]control.PartitionProgress, len(s.Progress.Partitions))
	for _, p := range s.Progress.Partitions {
		progress[at{p.Topic, p.Partition}] = p
	}
	return convert(s.Partitions, func(p control.SourcePartition) api.SourcePartition {
		out := api.SourcePartition{Topic: p.Topic, Partition: int32(p.Partition), Start: common.Int64(p.Start), Until: offset(p.Until), Next: common.Int64(p.Start)}
		if now, ok := progress[at{p.Topic, p.Partition}]; ok {
			lag := common.Int64(now.Lag)
			out.Next, out.Lag, out.Idle, out.Done = common.Int64(now.Next), &lag, now.Idle, now.Done
			out.Watermark, out.Counters = eventTime(now.Watermark), countersDoc(now.Counters)
		}
		return out
	})
}

func offset(o *ident.NextOffset) *common.Int64 {
	if o == nil {
		return nil
	}
	n := common.Int64(*o)
	return &n
}

// eventTime is an event time as RFC 3339. The watermarks that are no times, and times that RFC 3339 cannot write, are
// null.
func eventTime(ms *ident.EventMs) *time.Time {
	if ms == nil || *ms == ident.WatermarkNone || *ms == ident.WatermarkEnd {
		return nil
	}
	const lastYear = 9999
	t := time.UnixMilli(int64(*ms)).UTC()
	if t.Year() < 0 || t.Year() > lastYear {
		return nil
	}
	return &t
}

func causeDoc(c *control.Cause) *common.Cause {
	if c == nil {
		return nil
	}
	return &common.Cause{Code: c.Code, Message: c.Message}
}

func startDoc(s control.StartRecord) common.StartRecord {
	return common.StartRecord{
		Begun: orNull(s.Begun), Complete: s.Complete, Missing: convert(s.Missing, ident.Task.String),
		Failed: convert(s.Failed, func(f control.TaskFailure) common.TaskFailure {
			return common.TaskFailure{Task: f.Task.String(), Cause: *causeDoc(&f.Cause)}
		}),
	}
}
