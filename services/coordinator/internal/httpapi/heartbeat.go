package httpapi

import (
	"strconv"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// reader reads the text forms of identifiers and gathers what is wrong with them.
type reader struct{ invalid.Collector }

func (r *reader) instance(pointer, text string) ident.Instance {
	v, err := ident.ParseInstance(text)
	r.check(pointer, err)
	return v
}

func (r *reader) task(pointer, text string) ident.Task {
	v, err := ident.ParseTask(text)
	r.check(pointer, err)
	return v
}

func (r *reader) check(pointer string, err error) {
	if err != nil {
		r.Addf(string(problem.CodeInvalidFormat), pointer, "%v", err)
	}
}

func readHeartbeat(b *common.Heartbeat) (control.Heartbeat, error) {
	in := reader{}
	out := control.Heartbeat{
		Cluster: b.ClusterID, Node: ident.NodeID(b.Node), Instance: in.instance("/instance", b.Instance), Address: b.Address, Message: uint64(b.Message),
		Leaving: b.Leaving, HighestTerm: ident.Term(b.HighestTerm),
		Streams: convert(b.Streams, func(s common.StreamReport) control.StreamReport {
			return control.StreamReport{Stream: ident.StreamID(s.StreamID), Term: ident.Term(s.Term), Generation: ident.Generation(s.Generation), Stage: ident.Stage(s.Stage)}
		}),
	}
	for i, t := range b.Tasks {
		out.Tasks = append(out.Tasks, in.taskReport("/tasks/"+strconv.Itoa(i), t))
	}
	for i, u := range b.Updates {
		out.Updates = append(out.Updates, control.NodeUpdate{
			Stream: ident.StreamID(u.StreamID), Stage: ident.Stage(u.Stage), Task: in.task("/updates/"+strconv.Itoa(i)+"/task", u.Task), Cause: readCause(u.Cause),
		})
	}
	return out, in.Err()
}

func (r *reader) taskReport(pointer string, t common.TaskReport) control.TaskReport {
	out := control.TaskReport{
		Stream: ident.StreamID(t.StreamID), Stage: ident.Stage(t.Stage), Task: r.task(pointer+"/task", t.Task), State: t.State,
		Watermark: ident.EventMs(t.Watermark), Idle: t.Idle, RecordsPerSecond: t.RecordsPerSecond, QueueBytes: int64(t.QueueBytes), Note: t.Note,
		Committed:  ident.CheckpointID(t.Committed),
		Partitions: convert(t.Partitions, readPartition),
	}
	if t.Cause != nil {
		cause := readCause(*t.Cause)
		out.Cause = &cause
	}
	return out
}

func readPartition(p common.PartitionReport) control.PartitionReport {
	return control.PartitionReport{
		Topic: p.Topic, Partition: ident.Partition(p.Partition), Next: ident.NextOffset(p.Next), End: ident.NextOffset(p.End),
		Watermark: ident.EventMs(p.Watermark), Idle: p.Idle, Done: p.Done,
		Counters: control.Counters{
			Counted: int64(p.Counters.Counted), Filtered: int64(p.Counters.Filtered), NoWindow: int64(p.Counters.NoWindow),
			Late: int64(p.Counters.Late), DeadLettered: int64(p.Counters.DeadLettered),
		},
	}
}

func readCause(c common.Cause) control.Cause { return control.Cause{Code: c.Code, Message: c.Message} }
