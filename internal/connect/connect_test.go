package connect_test

import (
	"testing"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
)

// connection parses the same words anew, as each resolution of a stream does.
func connection(t *testing.T, password string) spec.Connection {
	t.Helper()
	src, err := spec.ParseSource([]byte(`{"name":"s","format":"json","table":"k","event_time":"ts","kafka":{"topic":"t","brokers":["b:1"],
		"sasl":{"mechanism":"plain","user":"u","password":{"from":"env","name":"` + password + `"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return src.Kafka.Connection
}

func TestOneConnectionForEqualSpecs(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"A": "one", "B": "two"}
	hub := connect.New(connect.Config{
		Kafka:  kafka.Config{Brokers: []string{"cluster:1"}},
		Secret: func(r spec.SecretRef) (string, error) { return secrets[r.Name], nil },
	})
	t.Cleanup(hub.Close)
	open := func(password string) *connect.Kafka {
		t.Helper()
		k, err := hub.Kafka(connection(t, password))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := open("A")
	if open("A") != first {
		t.Error("a spec that was parsed again has a second connection: they add up with every look at it")
	}
	if open("B") == first {
		t.Error("another password shares the connection")
	}
	secrets["A"] = "changed"
	if open("A") == first {
		t.Error("a changed secret goes on with the old password")
	}
	if len(hub.Fetchers()) != 3 {
		t.Errorf("%d connections, want 3", len(hub.Fetchers()))
	}
}
