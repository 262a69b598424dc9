package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	coordinator "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

// topics are those that the cluster's streams use.
type topics struct {
	vgroups int
	sources []string
	edges   []string
}

// dateExact is the resolution of the header Date.
const dateExact = time.Second

// api asks the coordinator how it is, and for what the other areas look at.
func api(ctx context.Context, s *state) []Check {
	health, err := readiness(ctx, s)
	if err != nil {
		return []Check{refusal("coordinator", err)}
	}
	out := []Check{ok("api", "coordinator", "answers at "+s.client.URL)}
	for _, c := range health.Checks {
		name := "ready: " + c.Name
		if c.Status == "ok" {
			s.running.kafka = s.running.kafka || c.Name == "kafka"
			out = append(out, ok("api", name, "the coordinator says so"))
			continue
		}
		out = append(out, bad(Failing, "api", name, "the coordinator says: "+c.Detail, "see the coordinator's log"))
	}
	out = append(out, nodes(ctx, s)...)
	return append(out, streams(ctx, s))
}

// refusal is a question that was not answered.
func refusal(name string, err error) Check {
	var answered *client.Error
	if errors.As(err, &answered) {
		return bad(Failing, "api", name, answered.Doc.Detail, answered.Doc.Hint)
	}
	return bad(Failing, "api", name, err.Error(), "")
}

// readiness asks the coordinator's, and keeps what its answer tells beside.
func readiness(ctx context.Context, s *state) (common.Health, error) {
	health, header, err := ready(ctx, s.client, s.client.URL)
	if err != nil {
		return health, err
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		s.skew = append(s.skew, skew{"the coordinator", time.Until(date), dateExact})
	}
	s.running = &cluster{}
	if at, err := url.Parse(s.client.URL); err == nil {
		s.running.coordinator = at.Host
	}
	return health, nil
}

// ready asks a service's /readyz, which needs no token.
func ready(ctx context.Context, c *client.Client, at string) (health common.Health, header http.Header, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/readyz", nil)
	if err != nil {
		return health, nil, err
	}
	answer, err := c.HTTP.Do(request)
	if err == nil && answer.StatusCode == http.StatusServiceUnavailable {
		answer.StatusCode = http.StatusOK // an answer of the same form: which check fails is what is wanted
	}
	opened, err := client.Open(answer, err)
	if err != nil {
		return health, nil, err
	}
	defer opened.Body.Close()
	if err := json.NewDecoder(opened.Body).Decode(&health); err != nil {
		return health, nil, fmt.Errorf("%s is no service of Pondage: its answer has another form", at)
	}
	return health, opened.Header, nil
}

// nodes looks at the nodes, and asks those that live how they are.
func nodes(ctx context.Context, s *state) []Check {
	page, _, err := client.Decode[coordinator.NodePage](s.client.ListNodes(ctx))
	if err != nil {
		return []Check{refusal("nodes", err)}
	}
	var out []Check
	for _, n := range page.Items {
		if n.State == "alive" {
			s.running.workers = append(s.running.workers, n)
			out = append(out, node(ctx, s, n)...)
		}
	}
	alive := len(s.running.workers)
	detail := fmt.Sprintf("%d of %s alive", alive, render.Count(len(page.Items), "node"))
	switch {
	case alive == 0:
		return append(out, bad(Failing, "api", "nodes", detail, "start one: pondage node --coordinators "+s.client.URL))
	case alive < len(page.Items):
		return append(out, bad(Warning, "api", "nodes", detail, "pondage nodes says which are not"))
	}
	return append(out, ok("api", "nodes", detail))
}

// node asks a worker for its own checks; one that is not reached from here is told among the ports.
func node(ctx context.Context, s *state, n coordinator.Node) []Check {
	ctx, cancel := context.WithTimeout(ctx, whoTimeout)
	defer cancel()
	health, _, err := ready(ctx, s.client, n.Address)
	if err != nil {
		return nil
	}
	var out []Check
	for _, c := range health.Checks {
		if c.Status != "ok" {
			out = append(out, bad(Failing, "api", fmt.Sprintf("node %s: %s", n.Node, c.Name), "the worker says: "+c.Detail, "see the worker's log"))
		}
	}
	return out
}

// streams looks at the states of streams, and notes their topics.
func streams(ctx context.Context, s *state) Check {
	cluster, _, err := client.Decode[coordinator.Cluster](s.client.GetCluster(ctx))
	if err != nil {
		return refusal("streams", err)
	}
	items, err := client.Pages(0, func(size *int32, cursor *string) (*http.Response, error) {
		return s.client.ListStreams(ctx, &coordinator.ListStreamsParams{Limit: size, Cursor: cursor})
	})
	if err != nil {
		return refusal("streams", err)
	}
	all, err := client.As[coordinator.Stream](items)
	if err != nil {
		return refusal("streams", err)
	}
	s.topics.vgroups, s.running.brokers = int(cluster.Vgroups), cluster.Brokers
	var failed []string
	for _, stream := range all {
		if stream.State == "failed" {
			failed = append(failed, stream.Name)
		}
		if err := s.topics.add(ctx, s.client, stream); err != nil {
			return refusal("streams", err)
		}
	}
	if len(failed) > 0 {
		return bad(Failing, "api", "streams", fmt.Sprintf("%d of %s failed: %s", len(failed), render.Count(len(all), "stream"), list(failed)), "pondage stream get NAME says why")
	}
	return ok("api", "streams", render.Count(len(all), "stream")+", none has failed")
}

// add notes the topics of a stream. One that was dropped meanwhile has none.
func (t *topics) add(ctx context.Context, c *client.Client, stream coordinator.Stream) error {
	graph, _, err := client.Decode[coordinator.Graph](c.GetGraph(ctx, stream.Name))
	if client.HasCode(err, "stream_unknown") {
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range stream.Partitions {
		t.sources = addNew(t.sources, p.Topic)
	}
	for _, e := range graph.Edges {
		if e.Topic != "" {
			t.edges = addNew(t.edges, e.Topic)
		}
	}
	return nil
}
