package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// BrokerOptions say how the embedded broker runs. The zero value is one broker on a free port.
type BrokerOptions struct {
	// Port is the first broker's port on 127.0.0.1; others follow it. 0 takes free ports.
	Port int
	// Brokers is the number of brokers. Default 1.
	Brokers int
	// Log hears when the disk is full and when it has room again, and the broker's own warnings. Default: nobody does.
	Log *slog.Logger

	room func(dir string) (free int64, err error) // for tests; default freeSpace
}

// Broker is a running embedded broker, speaking Kafka's protocol. Topics are not made on use.
type Broker struct {
	cluster *kfake.Cluster
	lock    *Lock
	disk    *diskGuard // nil in memory
	stop    sync.Once
	stopErr error
}

// StartBroker starts the broker with its log in dir, which is made where missing; an empty dir keeps it in memory. Writes
// are left to the operating system, as Kafka does: a kill of the process loses nothing, a crash of the machine may. While the
// disk of dir is full, producers are refused with KAFKA_STORAGE_ERROR and the reason.
func StartBroker(ctx context.Context, dir string, o BrokerOptions) (*Broker, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("devstack: start the broker: %w", err)
	}
	ports, err := brokerPorts(o)
	if err != nil {
		return nil, err
	}
	b := &Broker{}
	opts := []kfake.Opt{kfake.NumBrokers(max(o.Brokers, 1))}
	if len(ports) > 0 {
		opts = append(opts, kfake.Ports(ports...))
	}
	if dir != "" {
		lock, err := LockDir(dir)
		if err != nil {
			return nil, err
		}
		b.lock, b.disk = lock, newDiskGuard(dir, o)
		opts = append(opts, kfake.DataDir(dir), kfake.WithLogger(b.disk))
	}
	b.cluster, err = kfake.NewCluster(opts...)
	if err != nil {
		return nil, errors.Join(explain("start the broker in", dir, err), b.unlock())
	}
	if b.disk != nil {
		b.disk.start(b.cluster)
	}
	return b, nil
}

// brokerPorts returns the ports asked for, checked; none leaves the choice to the broker.
func brokerPorts(o BrokerOptions) ([]int, error) {
	if o.Port == 0 {
		return nil, nil
	}
	var ports []int
	for i := range max(o.Brokers, 1) {
		if err := checkPort(o.Port + i); err != nil {
			return nil, err
		}
		ports = append(ports, o.Port+i)
	}
	return ports, nil
}

// Addrs returns the brokers' addresses host:port.
func (b *Broker) Addrs() []string { return slices.Clone(b.cluster.ListenAddrs()) }

// Stop writes what is in memory and ends the broker. Only the first call counts.
func (b *Broker) Stop() error {
	b.stop.Do(func() {
		if b.disk != nil {
			b.disk.stop()
		}
		b.cluster.Close()
		b.stopErr = b.unlock()
	})
	return b.stopErr
}

func (b *Broker) unlock() error {
	if b.lock == nil {
		return nil
	}
	return b.lock.Unlock()
}
