package kafka_test

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// eventually waits until something is seen.
func (b *bed) eventually(what string, seen func() bool) {
	b.t.Helper()
	for !seen() {
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("not within %v: %s", patience, what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// port returns the port of the first broker.
func (b *bed) port() int {
	_, text, _ := net.SplitHostPort(b.cluster.ListenAddrs()[0])
	port, err := strconv.Atoi(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return port
}

// restart brings a closed broker back with its data.
func (b *bed) restart(dir string, port int) {
	b.t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(port))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cluster.Close)
	b.cluster = cluster
}

// franz returns another client, as other tools use.
func (b *bed) franz(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.cluster.ListenAddrs()...))...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *bed) addPartitions(topic string, n int) {
	b.t.Helper()
	answer, err := kadm.NewClient(b.franz()).CreatePartitions(b.ctx, n, topic)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) transactional(id string) *kgo.Client {
	return b.franz(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

// produce writes values to partition 0 and waits for the broker.
func (b *bed) produce(c *kgo.Client, topic string, values ...string) {
	b.t.Helper()
	for _, v := range values {
		if err := c.ProduceSync(b.ctx, &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// transact writes values in a transaction and ends it.
func (b *bed) transact(c *kgo.Client, topic string, end kgo.TransactionEndTry, values ...string) {
	b.t.Helper()
	if err := c.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	b.produce(c, topic, values...)
	if err := c.EndTransaction(b.ctx, end); err != nil {
		b.t.Fatal(err)
	}
}

// countedConn tells when it is closed.
type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed sync.Once
}

func (c *countedConn) Close() error {
	c.closed.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// cutEverything makes the broker hang up at every request.
func (b *bed) cutEverything() {
	b.cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		return nil, errors.New("the connection is cut"), true
	})
}
