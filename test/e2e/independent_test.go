package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/batch/landed"
)

// TestAnIndependentConsumerReadsTheSameRows: what a transactional Kafka output holds, each record once, is what the
// transactional table holds, to a consumer that shares no code with Pondage; and nothing is left open by a kill, a stop, or
// a drop. On a real Kafka the consumer is Kafka's own.
func TestAnIndependentConsumerReadsTheSameRows(t *testing.T) {
	t.Parallel()
	a := processes(t)
	const partitions = 4
	src, name := a.source(t, partitions, nil), a.name("st")
	a.create(t, count(name, src, object{
		"trigger": "window_close", "checkpoint_interval": "1s",
		"outputs": object{"postgres": object{"table": name, "delivery": "transactional"}, "kafka": object{"topic": name, "delivery": "transactional"}},
	}))
	a.untilState(t, name, "running")
	const window = 10_000 // ms
	round := func(n int) {
		for p := range partitions {
			a.put(t, src, p, spread(manyTables, int64(n)*window+1, 1)...)
		}
	}
	shown := func(windows int) {
		t.Helper()
		eventually(t, patience, "closed windows", func() string {
			records, err := landed.Topic(t.Context(), a.brokers, name)
			if err != nil {
				return err.Error()
			}
			if rows := a.lines(t, name); len(rows) != windows*manyTables || len(records) != len(rows) {
				return fmt.Sprintf("%d rows, %d records", len(rows), len(records))
			}
			return ""
		})
	}
	round(0)
	round(1)
	shown(1)

	before := a.stream(t, name)
	round(2) // two windows close, and a node dies with whatever it has open
	a.workers[1].kill(t)
	a.workers[1].start(t)
	a.until(t, name, "running in a new stage", func(s coordinator.Stream) string {
		if s.Stage == before.Stage || s.State != "running" {
			return describe(s)
		}
		return ""
	})
	round(3)
	shown(3)
	a.nothingIsOpen(t, "a kill")

	a.act(t, name, "stop")
	a.untilState(t, name, "stopped")
	a.nothingIsOpen(t, "a stop")
	a.act(t, name, "start")
	a.untilState(t, name, "running")
	round(4)
	shown(4)
	want := a.lines(t, name)
	a.drop(t, name)
	a.nothingIsOpen(t, "a drop")

	got := a.consume(t, name, len(want))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the consumer has %d records, the table %d rows:\n%s\nwant\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// lines are the rows of the table, as the topic's values have them.
func (c *cluster) lines(t *testing.T, table string) (out []string) {
	t.Helper()
	for _, r := range c.query(t, `SELECT k, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), n, s::text FROM `+table) {
		out = append(out, fmt.Sprintf(`{"k":%q,"at":%q,"n":%q,"s":%q}`, r[0], r[1], r[2], r[3]))
	}
	return out
}

// nothingIsOpen waits until no transaction of the cluster is under way. Half of patience is below the time after which
// brokers end a transaction by themselves.
func (c *cluster) nothingIsOpen(t *testing.T, after string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	eventually(t, patience/2, "no open transaction after "+after, func() string {
		found, err := adm.ListTransactions(t.Context(), nil, []string{"Ongoing", "PrepareCommit", "PrepareAbort"})
		if err != nil {
			return err.Error()
		}
		var open []string
		found.Each(func(l kadm.ListedTransaction) {
			if strings.HasPrefix(l.TxnID, c.id+".") {
				open = append(open, l.TxnID+" "+l.State)
			}
		})
		return strings.Join(open, ", ")
	})
}

// consume reads the committed values of a topic by a consumer that is not ours.
func (c *cluster) consume(t *testing.T, topic string, most int) []string {
	t.Helper()
	if os.Getenv(envKafka) == "" {
		return c.consumeByFranz(t, topic)
	}
	// It ends when nothing has come for a while; one record more than there may be shows that there are too many.
	const idle = 20 * time.Second
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Getenv(envScript), "exec", "ConsoleConsumer", "--bootstrap-server", strings.Join(c.brokers, ","), "--topic", topic, "--from-beginning",
		"--isolation-level", "read_committed", "--timeout-ms", strconv.FormatInt(idle.Milliseconds(), 10), "--max-messages", strconv.Itoa(most+1))
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("the console consumer read nothing: %s", said.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func (c *cluster) consumeByFranz(t *testing.T, topic string) []string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the last of a partition is the mark of a transaction's end
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	within, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out []string
	for len(left) > 0 && within.Err() == nil {
		client.PollFetches(within).EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out = append(out, string(r.Value))
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("partitions %v were not read to their end", left)
	}
	return out
}
