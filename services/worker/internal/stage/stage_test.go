package stage

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/task"
)

// apart places sources on node a, what is behind them on b.
func apart(t ident.Task) string {
	if t.Level == ident.LevelSource {
		return "a"
	}
	return "b"
}

func together(ident.Task) string { return "a" }

func row(start string, n int) string {
	return fmt.Sprintf(`{"device":"a","start":"1970-01-01T00:%s.000Z","n":"%d"}`, start, n)
}

func TestSourcesWaitForTheirReceiversOnALateNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 2, apart)
	c.record(o, 0, 1, 2)
	a := c.join("a", c.hub)
	ra := a.begin(o)
	a.await("the handshake is what the start waits for", func() bool {
		r := ra.Reports()
		return len(r) > 0 && strings.HasPrefix(r[0].Note, "starting: handshake with b/")
	})
	if !all(ra, task.Uninit) {
		t.Errorf("states %v before the receivers are ready", states(ra))
	}
	b := c.join("b", c.hub)
	rb := b.begin(o)
	a.await("all are ready", func() bool { return all(ra, task.Ready) && all(rb, task.Ready) })
	if note := ra.Reports()[0].Note; note != "" {
		t.Errorf("note %q", note)
	}
	c.record(o, 0, 11)
	c.record(o, 1, 3, 11)
	b.results(c.plan(o), o.StreamID).await(row("00:00", 3))
	b.await("the watermark is measured", func() bool { return b.metrics()["pondage.task.watermark.lag"] > 1e9 }) // event times are of 1970
	sent, got := a.metrics(), b.metrics()
	for name, want := range map[string]float64{"pondage.source.records": 5, "pondage.task.live": float64(len(ra.Reports())), "pondage.stage.starts": 1} {
		if sent[name] != want {
			t.Errorf("%s is %g at the sources, want %g", name, sent[name], want)
		}
	}
	if got["pondage.result.rows"] != 1 || got["pondage.edge.received.blocks"] < sent["pondage.edge.sent.blocks"] {
		t.Errorf("metrics of the receivers: %v", got)
	}
}

func TestAnOrderThatComesBeforeTheTasksIsObeyed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, apart)
	a := c.join("a", c.hub)
	ra := a.begin(o)
	paused := o
	paused.Generation, paused.Wanted = 2, "paused"
	ra.Update(paused)
	b := c.join("b", c.hub)
	rb := b.begin(paused)
	a.await("the source is paused", func() bool { return all(ra, task.Paused) })
	// Receivers go on taking: edges drain.
	b.await("receivers are ready", func() bool { return all(rb, task.Ready) })
	c.record(o, 0, 1, 11)
	again := o
	again.Generation = 3
	ra.Update(again)
	a.await("the source goes on", func() bool { return all(ra, task.Ready) })
	b.results(c.plan(o), o.StreamID).await(row("00:00", 1))
}

func TestAPausedOrderStartsPaused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, together)
	o.Wanted = "paused"
	a := c.join("a", c.hub)
	r := a.begin(o)
	a.await("the source is paused", func() bool {
		s := states(r)
		return s["source-0"] == string(task.Paused) || s["source-1"] == string(task.Paused)
	})
}

func TestT26_AnOrderBringsFurtherPartitions(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 4, together) // 4 partitions over 2 vgroups: both have a source task with 2
	full := o.Partitions
	o.Partitions = full[:2]
	o.Tasks = o.Tasks[:len(o.Tasks):len(o.Tasks)]
	a := c.join("a", c.hub)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 3, 1, 2, 3)
	grown := o
	grown.Generation, grown.Partitions = 2, full
	r.Update(grown)
	r.Update(grown)
	for p := range 4 {
		c.record(o, p, 11)
	}
	a.results(c.plan(o), o.StreamID).await(row("00:00", 3))
	n := 0
	for _, rep := range r.Reports() {
		n += len(rep.Partitions)
	}
	if n != 4 {
		t.Errorf("%d partitions are reported", n)
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(*common.Order)
		code   string
	}{
		"a source that is not one":     {func(o *common.Order) { o.Source = json.RawMessage(`{"name":"src"}`) }, "plan_invalid"},
		"a stream of another version":  {func(o *common.Order) { o.Spec = json.RawMessage(`{"name":"s","nothing":1}`) }, "plan_invalid"},
		"a partition without identity": {func(o *common.Order) { o.Partitions[0].TopicID = "?" }, "plan_invalid"},
		"a secret this node lacks": {func(o *common.Order) {
			o.Source = json.RawMessage(strings.Replace(string(o.Source), `"kafka":{`, `"kafka":{"brokers":["x:1"],"sasl":{"mechanism":"plain","user":"u","password":{"from":"env","name":"NONE"}},`, 1))
		}, "start_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			o := c.order(counts, 1, together)
			x.change(&o)
			a := c.join("a", c.hub)
			r := a.begin(o)
			a.await("a failure", func() bool {
				for _, rep := range r.Reports() {
					if rep.State == string(task.Failed) && rep.Cause != nil && rep.Cause.Code == x.code {
						return true
					}
				}
				return false
			})
		})
	}
}

func TestAStageThatIsOverAsksForAReset(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts, 1, apart)
	a, b := c.join("a", c.hub), c.join("b", c.hub)
	b.Exchange.StageKnown(ident.StreamID(o.StreamID), 2, nil)
	r := a.begin(o)
	a.await("a node update", func() bool {
		u := r.Updates()
		return len(u) == 1 && u[0].Cause.Code == "newer_stage" && u[0].Stage == 1
	})
}

func TestAKafkaOutputThatIsAwayKeepsNobodyFromStarting(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.order(counts+`,"outputs":{"kafka":{"topic":"out","brokers":["127.0.0.1:1"]}}`, 1, together)
	a := c.join("a", c.hub)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 1, 11)
	a.await("the output is shown as away", func() bool {
		for _, rep := range r.Reports() {
			if strings.HasPrefix(rep.Note, "sink_unreachable: kafka: ") {
				return true
			}
		}
		return false
	})
	if !all(r, task.Ready) {
		t.Errorf("states %v", states(r))
	}
}

// TestARunEndsAtAnyPoint is not parallel: it looks at all goroutines of the process.
func TestARunEndsAtAnyPoint(t *testing.T) {
	for name, x := range map[string]struct {
		brokers []string // nil: the cluster's
		order   func(*cluster) common.Order
		until   func(*Run) bool
	}{
		"at once": {nil, func(c *cluster) common.Order { return c.order(counts, 1, together) }, func(*Run) bool { return true }},
		"while the brokers are away": {[]string{"127.0.0.1:1"}, func(c *cluster) common.Order { return c.order(counts, 1, together) },
			func(r *Run) bool { return strings.HasPrefix(r.Reports()[0].Note, "starting: edge topic: ") }},
		"in the handshake": {nil, func(c *cluster) common.Order { return c.order(counts, 1, apart) },
			func(r *Run) bool { return strings.HasPrefix(r.Reports()[0].Note, "starting: handshake") }},
		"running": {nil, func(c *cluster) common.Order { return c.order(counts, 2, together) }, func(r *Run) bool { return all(r, task.Ready) }},
		"with an output that hangs": {nil, func(c *cluster) common.Order {
			o := c.order(counts+`,"outputs":{"kafka":{"topic":"out","brokers":["127.0.0.1:1"]}}`, 1, together)
			c.record(o, 0, 1, 11)
			return o
		}, func(r *Run) bool {
			for _, rep := range r.Reports() {
				if strings.HasPrefix(rep.Note, "sink_unreachable") {
					return true
				}
			}
			return false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			h := c.hub
			if x.brokers != nil {
				h = hub(t, x.brokers)
			}
			a := c.join("a", h)
			r := a.Start(x.order(c), func() {}).(*Run)
			a.await("the point to end at", func() bool { return x.until(r) })
			began := time.Now()
			r.End()
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("the end took %s", d)
			}
			if left := goroutines("internal/stage.(*Run)", "internal/stage.(*starting)", "internal/task.", "internal/sink."); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
			if n := a.Memory.Used(); n != 0 {
				t.Errorf("%d bytes are held", n)
			}
			if a.Feed(r.id) != nil || len(a.live()) != 0 {
				t.Error("the engine still knows the run")
			}
		})
	}
}

// goroutines returns the stacks that have one of the words, but for this test's own.
func goroutines(words ...string) string {
	buf := make([]byte, 1<<20)
	var out []string
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")[1:] {
		for _, w := range words {
			if strings.Contains(stack, "worker/"+w) && !strings.Contains(stack, "testing.tRunner") {
				out = append(out, stack)
				break
			}
		}
	}
	return strings.Join(out, "\n\n")
}

// TestAnOutputTopicThatIsMissingIsMade: the output's brokers were away when the coordinator made the stage's topics.
func TestAnOutputTopicThatIsMissingIsMade(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	out := testkafka.Topic(t)
	o := c.order(fmt.Sprintf(`%s,"outputs":{"kafka":{"topic":%q}}`, counts, out), 1, together)
	a := c.join("a", c.hub)
	r := a.begin(o)
	a.await("all are ready", func() bool { return all(r, task.Ready) })
	c.record(o, 0, 1, 11)
	k, err := c.hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	a.await("the result is written", func() bool {
		ends, err := k.Client.Ends(t.Context(), out)
		written := ident.NextOffset(0)
		for _, end := range ends {
			written += end
		}
		return err == nil && len(ends) == vgroups && written == 1
	})
}
