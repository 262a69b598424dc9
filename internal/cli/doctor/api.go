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
			out = append(out, ok("api", name, "the coordinator says so"))
			continue
		}
		out = append(out, bad(Failing, "api", name, "the coordinator says: "+c.Detail, "see the coordinator's log"))
	}
	return append(out, nodes(ctx, s), streams(ctx, s))
}

// refusal is a question that was not answered.
func refusal(name string, err error) Check {
	var answered *client.Error
	if errors.As(err, &answered) {
		return bad(Failing, "api", name, answered.Doc.Detail, answered.Doc.Hint)
	}
	return bad(Failing, "api", name, err.Error(), "")
}

// readiness asks /readyz, which needs no token, and keeps the time that the answer was given.
func readiness(ctx context.Context, s *state) (health common.Health, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client.URL+"/readyz", nil)
	if err != nil {
		return health, err
	}
	answer, err := s.client.HTTP.Do(request)
	if err == nil && answer.StatusCode == http.StatusServiceUnavailable {
		answer.StatusCode = http.StatusOK // an answer of the same form: which check fails is what is wanted
	}
	opened, err := client.Open(answer, err)
	if err != nil {
		return health, err
	}
	defer opened.Body.Close()
	if err := json.NewDecoder(opened.Body).Decode(&health); err != nil {
		return health, fmt.Errorf("%s is no coordinator: its answer has another form", s.client.URL)
	}
	if date, err := http.ParseTime(opened.Header.Get("Date")); err == nil {
		s.skew = append(s.skew, skew{"the coordinator", time.Until(date), dateExact})
	}
	if at, err := url.Parse(s.client.URL); err == nil {
		s.answers = map[string]bool{at.Host: true}
	}
	return health, nil
}

func nodes(ctx context.Context, s *state) Check {
	page, _, err := client.Decode[coordinator.NodePage](s.client.ListNodes(ctx))
	if err != nil {
		return refusal("nodes", err)
	}
	alive := 0
	for _, n := range page.Items {
		if n.State == "alive" {
			alive++
		}
	}
	detail := fmt.Sprintf("%d of %d nodes are alive", alive, len(page.Items))
	switch {
	case alive == 0:
		return bad(Failing, "api", "nodes", detail, "start one: pondage node --coordinators "+s.client.URL)
	case alive < len(page.Items):
		return bad(Warning, "api", "nodes", detail, "pondage nodes says which are not")
	}
	return ok("api", "nodes", detail)
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
	s.topics.vgroups = int(cluster.Vgroups)
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
		return bad(Failing, "api", "streams", fmt.Sprintf("%d of %d streams have failed: %s", len(failed), len(all), list(failed)), "pondage stream get NAME says why")
	}
	return ok("api", "streams", fmt.Sprintf("%d streams, none has failed", len(all)))
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
