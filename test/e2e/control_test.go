package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/pondage/pondage/internal/api/coordinator"
)

// act asks for a change of a stream.
func (c *cluster) act(t *testing.T, name, action string) {
	t.Helper()
	if a := c.do(t, http.MethodPost, "/v1/streams/"+name+"/"+action, nil); a.status != http.StatusAccepted {
		t.Fatalf("%s %s: %s", action, name, a)
	}
}

// counted is the only result of a stream by count with trigger at_once over table a in the first window.
func counted(n, sum int) string {
	return fmt.Sprintf(`{"k":"a","at":"1970-01-01T00:00:00.000Z","n":"%d","s":"%d"}`, n, sum)
}

// atOnce makes a stream over a fresh source with one partition and returns both.
func (c *cluster) atOnce(t *testing.T) (name, source string) {
	t.Helper()
	source = c.source(t, 1, nil)
	name = c.name("st")
	c.create(t, count(name, source, object{"trigger": "at_once", "outputs": object{"postgres": object{"table": name}, "kafka": object{"topic": name}}}))
	return name, source
}

func TestPausedStreamReadsNothingAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	c.accepted(t, name, 1)
	before := c.stream(t, name)
	c.act(t, name, "pause")
	c.untilState(t, name, "paused")
	c.put(t, src, 0, record("a", 2000, 2))
	c.act(t, name, "pause") // may be repeated
	paused := c.untilState(t, name, "paused")
	if paused.Counters.Accepted != 1 {
		t.Errorf("a paused stream has accepted %d records, want 1", paused.Counters.Accepted)
	}
	c.act(t, name, "resume")
	s := c.untilState(t, name, "running")
	if s.Stage != before.Stage {
		t.Errorf("stage %d after a pause, want %d: nothing is read again", s.Stage, before.Stage)
	}
	c.settles(t, name, counted(2, 3))
	c.conserves(t, name)
}

func TestStoppedStreamStartsAgain(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	before := c.stream(t, name)
	c.act(t, name, "stop")
	c.untilState(t, name, "stopped")
	c.put(t, src, 0, record("a", 2000, 2))
	if a := c.do(t, http.MethodPost, "/v1/streams/"+name+"/pause", nil); a.status != http.StatusConflict || a.code() != "not_allowed_in_state" {
		t.Errorf("pause of a stopped stream: %s", a)
	}
	c.act(t, name, "start")
	s := c.untilState(t, name, "running")
	if s.Stage <= before.Stage {
		t.Errorf("stage %d after a start, want one above %d", s.Stage, before.Stage)
	}
	c.settles(t, name, counted(2, 3))
}

func TestResetReadsAgainFromTheStart(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1), record("a", 2000, 2))
	c.settles(t, name, counted(2, 3))
	before := c.stream(t, name)
	c.act(t, name, "reset")
	s := c.until(t, name, "running in a new stage", func(s coordinator.Stream) string {
		if s.Stage <= before.Stage || s.State != "running" || s.Counters.Accepted != 2 {
			return describe(s)
		}
		return ""
	})
	if s.Stage != before.Stage+1 {
		t.Errorf("stage %d after a reset of stage %d", s.Stage, before.Stage)
	}
	c.settles(t, name, counted(2, 3))
}

func TestDroppedStreamLeavesNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	if a := c.do(t, http.MethodDelete, "/v1/sources/"+src, nil); a.status != http.StatusConflict || a.code() != "source_in_use" {
		t.Errorf("delete of a source in use: %s", a)
	}
	var graph coordinator.Graph
	decode(t, c.must(t, http.MethodGet, "/v1/streams/"+name+"/graph", nil), &graph)
	if len(graph.Edges) != 1 {
		t.Fatalf("graph %+v", graph)
	}
	c.drop(t, name)
	if _, err := c.kafka.Topic(t.Context(), graph.Edges[0].Topic); err == nil {
		t.Errorf("edge topic %s is still there", graph.Edges[0].Topic)
	}
	if rows := c.query(t, "SELECT n FROM "+name); len(rows) != 1 {
		t.Errorf("%d rows are left in the user's table, want 1", len(rows))
	}
	if rows := c.query(t, "SELECT tablename FROM pg_tables WHERE starts_with(tablename, $1 || '__') UNION ALL SELECT target FROM pondage.owner WHERE target = quote_ident($1)", name); len(rows) > 0 {
		t.Errorf("beside the user's table there is still %v", rows)
	}
	// The name is free again, and so is the target.
	c.create(t, count(name, src, object{"trigger": "at_once", "outputs": object{"postgres": object{"table": name}}}))
	c.settles(t, name, counted(1, 1))
	c.drop(t, name)
	if a := c.do(t, http.MethodDelete, "/v1/sources/"+src, nil); a.status >= http.StatusMultipleChoices {
		t.Errorf("delete of a source without streams: %s", a)
	}
}

// drop drops a stream and waits until it is gone.
func (c *cluster) drop(t *testing.T, name string) {
	t.Helper()
	if a := c.do(t, http.MethodDelete, "/v1/streams/"+name, nil); a.status != http.StatusAccepted {
		t.Fatalf("drop %s: %s", name, a)
	}
	eventually(t, patience, name+" is gone", func() string {
		if a := c.do(t, http.MethodGet, "/v1/streams/"+name, nil); a.status != http.StatusNotFound {
			return a.String()
		}
		return ""
	})
}
