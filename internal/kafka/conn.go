package kafka

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The versions of the requests that go over a conn. A broker that lacks one is refused by name at the first contact.
const (
	versionFetch            = 13 // Kafka 3.1: topic ids
	versionProduce          = 8  // Kafka 2.4: the last that kafka-go writes
	versionApiVersions      = 0
	versionSaslHandshake    = 1
	versionSaslAuthenticate = 0
)

// readBuffer holds the small fields of an answer, bytes; record batches are read past it.
const readBuffer = 16 << 10

// conn is one connection to one broker. One goroutine uses it at a time: a request, then its answer. After an error it is
// of no more use: what would be read next may belong to an older request.
type conn struct {
	net         net.Conn
	r           *bufio.Reader
	clientID    string
	timeout     time.Duration
	correlation int32
	unhook      func() bool // undoes the closing at the end of the context
}

// dialBroker connects to a broker, checks its versions and authenticates. The connection closes when ctx ends.
func (c Config) dialBroker(ctx context.Context, address string) (*conn, error) {
	raw, err := c.connect(ctx, "tcp", address)
	if err != nil {
		return nil, &Error{Code: CodeUnreachable, Op: "connect", Partition: NoPartition, Detail: address, Err: err}
	}
	cn := &conn{
		net: raw, r: bufio.NewReaderSize(raw, readBuffer), clientID: c.ClientID, timeout: c.RequestTimeout,
	}
	cn.unhook = context.AfterFunc(ctx, func() { raw.Close() })
	if err := cn.greet(ctx, c, address); err != nil {
		cn.close()
		return nil, classify("connect to "+address, "", NoPartition, err)
	}
	return cn, nil
}

// greet is the first exchange of a connection.
func (cn *conn) greet(ctx context.Context, c Config, address string) error {
	if err := cn.checkVersions(); err != nil {
		return err
	}
	if c.SASL == nil {
		return nil
	}
	return cn.authenticate(ctx, *c.SASL, address)
}

func (cn *conn) close() {
	cn.unhook()
	cn.net.Close()
}

// roundTrip sends a request and reads its answer within the request timeout.
func (cn *conn) roundTrip(version int16, req protocol.Message) (protocol.Message, error) {
	return cn.exchange(req.ApiKey(), version, func(correlation int32) error {
		return protocol.WriteRequest(cn.net, version, correlation, cn.clientID, req)
	})
}

// exchange is roundTrip for a request that write writes.
func (cn *conn) exchange(key protocol.ApiKey, version int16, write func(correlation int32) error) (protocol.Message, error) {
	if err := cn.net.SetDeadline(time.Now().Add(cn.timeout)); err != nil {
		return nil, err
	}
	cn.correlation++
	if err := write(cn.correlation); err != nil {
		return nil, err
	}
	id, answer, err := protocol.ReadResponse(cn.r, key, version)
	if err != nil {
		return nil, err
	}
	if id != cn.correlation {
		return nil, errOutOfStep(cn.correlation, id)
	}
	return answer, nil
}

// errOutOfStep is an answer to another request: the stream of bytes cannot be trusted any more.
func errOutOfStep(want, got int32) error {
	return garbled("answer to request %d instead of %d", got, want)
}

// checkVersions asks the broker what it serves.
func (cn *conn) checkVersions() error {
	answer, err := cn.roundTrip(versionApiVersions, &apiversions.Request{})
	if err != nil {
		return err
	}
	served := answer.(*apiversions.Response)
	if err := kerr.ErrorForCode(served.ErrorCode); err != nil {
		return err
	}
	needed := map[protocol.ApiKey]int16{protocol.Fetch: versionFetch, protocol.Produce: versionProduce}
	for _, k := range served.ApiKeys {
		version, ok := needed[protocol.ApiKey(k.ApiKey)]
		if !ok {
			continue
		}
		if version < k.MinVersion || version > k.MaxVersion {
			return &Error{
				Code: CodeUnsupportedVersion, Op: "connect", Partition: NoPartition,
				Detail: fmt.Sprintf("the broker serves %s %d to %d, version %d is needed: Kafka 3.1 or newer",
					protocol.ApiKey(k.ApiKey), k.MinVersion, k.MaxVersion, version),
			}
		}
		delete(needed, protocol.ApiKey(k.ApiKey))
	}
	if len(needed) > 0 {
		return &Error{
			Code: CodeUnsupportedVersion, Op: "connect", Partition: NoPartition,
			Detail: "the address serves no Fetch or Produce: is it a broker, not a controller?",
		}
	}
	return nil
}
