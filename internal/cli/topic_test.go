package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/devstack/testkafka"
)

func TestTopics(t *testing.T) {
	t.Parallel()
	brokers, name := strings.Join(testkafka.Shared(t), ","), testkafka.Topic(t)
	run(t, t.Context(), "", "topic", "create", name, "--partitions", "2", "--setting", "retention.ms=-1", "--kafka", brokers).expect(t, 0, "topic "+name+" created\n")
	got := run(t, t.Context(), "", "topic", "get", name, "--kafka", brokers, "-o", "json")
	if want := fmt.Sprintf(`{"name":%q,"partitions":[{"partition":0,`, name); got.status != 0 || !strings.HasPrefix(got.out, want) || strings.Count(got.out, `"end":"0"`) != 2 {
		t.Errorf("%+v", got)
	}
	run(t, t.Context(), "", "topic", "create", name, "--kafka", brokers).complains(t, cli.StatusFailed, "topic_exists")
	run(t, t.Context(), "", "topic", "get", name+"x", "--kafka", brokers).complains(t, cli.StatusFailed, "topic_unknown")
	run(t, t.Context(), "", "topic", "create", name, "--partitions", "0", "--kafka", brokers).complains(t, cli.StatusUsage, "at least 1")
}
