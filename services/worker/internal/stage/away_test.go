package stage

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/devstack/testkafka"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/task"
)

// TestStagesBeginAndEndWhileAPostgresOutputIsAway: none of them waits for the database, whether it refuses or hangs, also not
// with a checkpoint under way. A stage that could not end would keep the next from being ready in time, and be reset again.
func TestStagesBeginAndEndWhileAPostgresOutputIsAway(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	for name, address := range map[string]string{"it refuses": "127.0.0.1:1", "it hangs": mute.Addr().String()} {
		for _, delivery := range []string{"upsert", "transactional"} {
			t.Run(name+", "+delivery, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				c.hub = connect.New(connect.Config{
					Kafka: kafka.Config{Brokers: testkafka.Shared(t), DialTimeout: time.Second, RequestTimeout: time.Second},
					Secret: func(spec.SecretRef) (string, error) {
						return "postgres://u@" + address + "/d?sslmode=disable&connect_timeout=1", nil
					},
				})
				t.Cleanup(c.hub.Close)
				o := c.order(fmt.Sprintf(`%s,"outputs":{"postgres":{"dsn":{"from":"env","name":"DSN"},"table":"t","delivery":%q}}`, strings.Replace(counts, `,"results":{"retain":"0s"}`, "", 1), delivery), 1, together)
				s := newStore(t)
				a := c.joinCheckpointed("a", s)
				for range 2 {
					r := a.begin(o)
					a.await("all are ready", func() bool { return all(r, task.Ready) })
					c.record(o, 0, 1, 11, 21)
					a.await("the output is shown as away", func() bool {
						for _, rep := range r.Reports() {
							if strings.HasPrefix(rep.Note, "sink_unreachable: postgres") {
								return true
							}
						}
						return false
					})
					a.ask(o, int(o.Stage), int(o.Stage), sourcesOf(o)...)
					began := time.Now()
					r.End()
					if d := time.Since(began); d > 3*time.Second {
						t.Errorf("the end took %s", d)
					}
					o.Stage, o.Generation = o.Stage+1, o.Generation+1
				}
			})
		}
	}
}
