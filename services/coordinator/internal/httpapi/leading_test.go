package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// TestAnyReplicaKnowsWhatTheLeaderKnows: counters come with heartbeats, which only the leader hears.
func TestAnyReplicaKnowsWhatTheLeaderKnows(t *testing.T) {
	t.Parallel()
	leads := newFake()
	leads.leader = control.Leader{Term: 3, Holder: "leads", Self: true}
	leader := httptest.NewServer(newServer(t, leads, nil).Handler())
	defer leader.Close()
	standby := newFake()
	standby.bare = true // it has heard nothing
	standby.leader = control.Leader{Term: 3, Holder: strings.TrimPrefix(leader.URL, "http://")}
	s := newServer(t, standby, nil)
	for _, path := range []string{"/v1/streams/flights_1h", "/v1/streams", "/v1/streams/flights_1h/tasks", "/v1/nodes"} {
		want, got := call(newServer(t, leads, nil), "GET", path, ""), call(s, "GET", path, "")
		if got.Code != 200 || got.Body.String() != want.Body.String() || got.Header().Get("ETag") != want.Header().Get("ETag") {
			t.Errorf("%s: %d %s\nthe leader says %s", path, got.Code, got.Body, want.Body)
		}
	}
	if got := call(s, "GET", "/v1/sources", ""); strings.Contains(got.Header().Get("Via"), "leads") || got.Code != 200 {
		t.Errorf("what is in the metastore was not answered here: %d", got.Code)
	}

	own := call(s, "GET", "/v1/streams/flights_1h", "", headerAsked, "replica").Body.String() // asked by a replica that takes this one for the leader
	leader.Close()
	if got := call(s, "GET", "/v1/streams/flights_1h", ""); got.Code != 200 || got.Body.String() != own {
		t.Errorf("without the leader: %d %s", got.Code, got.Body)
	}
}
