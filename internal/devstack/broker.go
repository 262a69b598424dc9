package devstack

import "context"

// BrokerOptions say how the embedded broker runs. The zero value is one broker on a free port.
type BrokerOptions struct {
	// Port is the first broker's port on 127.0.0.1; others follow it. 0 takes free ports, remembered in the directory.
	Port int
	// Brokers is the number of brokers. Default 1.
	Brokers int
}

// Broker is a running embedded broker.
type Broker struct{}

// StartBroker starts the broker with its log in dir, which is made where missing.
func StartBroker(ctx context.Context, dir string, o BrokerOptions) (*Broker, error) { return nil, nil }

// Addrs returns the brokers' addresses host:port.
func (b *Broker) Addrs() []string { return nil }

// Stop writes what is in memory and ends the broker. Only the first call counts.
func (b *Broker) Stop() error { return nil }
