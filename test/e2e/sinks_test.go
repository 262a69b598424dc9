package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestTwoStreamsMayNotWriteOneTarget: the second one is refused, and leaves nothing.
func TestTwoStreamsMayNotWriteOneTarget(t *testing.T) {
	t.Parallel()
	c := shared(t)
	first, src := c.atOnce(t)
	for _, outputs := range []object{{"postgres": object{"table": first}}, {"kafka": object{"topic": first}}} {
		second := c.name("st")
		a := c.do(t, http.MethodPost, "/v1/streams", count(second, src, object{"outputs": outputs}))
		if a.status != http.StatusConflict || a.code() != "target_in_use" || !strings.Contains(string(a.body), first) {
			t.Errorf("a second stream into %v: %s", outputs, a)
		}
		if a := c.do(t, http.MethodGet, "/v1/streams/"+second, nil); a.status != http.StatusNotFound {
			t.Errorf("the refused stream: %s", a)
		}
	}
}

// TestTargetOfAnotherShapeIsRefused: the table stays as it was, and no stream is made.
func TestTargetOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	c := shared(t)
	src := c.source(t, 1, nil)
	table, name := c.name("shape"), c.name("st")
	c.exec(t, fmt.Sprintf("CREATE TABLE %s (k text, n text)", table))
	a := c.do(t, http.MethodPost, "/v1/streams", count(name, src, object{"outputs": object{"postgres": object{"table": table}}}))
	if a.status != http.StatusConflict || a.code() != "target_mismatch" {
		t.Errorf("a table of another shape: %s", a)
	}
	if a := c.do(t, http.MethodGet, "/v1/streams/"+name, nil); a.status != http.StatusNotFound {
		t.Errorf("the refused stream: %s", a)
	}
	if rows := c.query(t, "SELECT column_name::text FROM information_schema.columns WHERE table_name = $1", table); len(rows) != 2 {
		t.Errorf("the table has columns %v", rows)
	}
	// Mended by hand, the same request is taken.
	c.exec(t, "DROP TABLE "+table)
	c.create(t, count(name, src, object{"trigger": "at_once", "outputs": object{"postgres": object{"table": table}}}))
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
}

// TestTableLockedForAWhile: a sink that cannot write holds its own stream only, and goes on by itself.
func TestTableLockedForAWhile(t *testing.T) {
	t.Parallel()
	c := shared(t)
	name, src := c.atOnce(t)
	other, otherSrc := c.atOnce(t)
	c.put(t, src, 0, record("a", 1000, 1))
	c.settles(t, name, counted(1, 1))
	before := c.stream(t, name)
	unlock := c.lock(t, name)
	c.put(t, src, 0, record("a", 2000, 2))
	c.put(t, otherSrc, 0, record("a", 1000, 1))
	c.settles(t, other, counted(1, 1))
	unlock()
	c.settles(t, name, counted(2, 3))
	if s := c.stream(t, name); s.Stage != before.Stage || s.State != "running" {
		t.Error(describe(s))
	}
}
