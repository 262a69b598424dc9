package setaside

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/node"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

// Names finds sources and streams (*catalog.Catalog).
type Names interface {
	Source(ctx context.Context, name string) (*spec.Source, error)
	Stream(ctx context.Context, name string) (*catalog.Stream, error)
}

// Brokers reaches the cluster's own Kafka, where such records are, and that of a source (*connect.Hub).
type Brokers interface {
	Cluster() (*connect.Kafka, error)
	Kafka(c spec.Connection) (*connect.Kafka, error)
}

const (
	// pageItems is a page without a limit.
	pageItems = 100
	// retryAfter is when a client may try again whom Kafka did not answer.
	retryAfter = 2 * time.Second
)

// Service lists and replays. Make it with New.
type Service struct {
	names   Names
	brokers Brokers
	cluster func() node.Cluster
}

// New returns a service. cluster returns what the node learned at its registration.
func New(n Names, b Brokers, cluster func() node.Cluster) *Service {
	return &Service{names: n, brokers: b, cluster: cluster}
}

// DeadLetters lists the dead letters of a source. Errors: *problem.Error with source_unknown, bad_cursor,
// broker_unreachable and the like.
func (s *Service) DeadLetters(ctx context.Context, source string, limit *int32, cursor *string) (api.DeadLetterPage, error) {
	if _, err := s.names.Source(ctx, source); err != nil {
		return api.DeadLetterPage{}, err
	}
	return s.list(ctx, s.cluster().Name.DeadTopic(source), limit, cursor)
}

// LateRecords lists the late records of a stream. Errors as DeadLetters, with stream_unknown.
func (s *Service) LateRecords(ctx context.Context, stream string, limit *int32, cursor *string) (api.DeadLetterPage, error) {
	if _, err := s.names.Stream(ctx, stream); err != nil {
		return api.DeadLetterPage{}, err
	}
	return s.list(ctx, s.cluster().Name.LateTopic(stream), limit, cursor)
}

func (s *Service) list(ctx context.Context, topic string, limit *int32, cursor *string) (api.DeadLetterPage, error) {
	p := &page{limit: pageItems}
	if limit != nil {
		p.limit = int(*limit)
	}
	if cursor != nil {
		after, err := parseCursor(*cursor)
		if err != nil {
			return api.DeadLetterPage{}, err
		}
		p.after = &after
	}
	k, err := s.brokers.Cluster()
	if err != nil {
		return api.DeadLetterPage{}, err
	}
	err = scan(ctx, k, topic, func(r *kafka.Record) error {
		if id := identityOf(r); p.wants(id) {
			p.add(item{id: id, doc: document(id, r), size: len(r.Value)})
		}
		return nil
	})
	if err != nil {
		return api.DeadLetterPage{}, kafkaProblem(topic, err)
	}
	return p.doc(), nil
}

// identityOf reads the identity from the headers. A record without them was not written by Pondage; its own place has to
// do.
func identityOf(r *kafka.Record) identity {
	id := identity{Topic: header(r, stage.HeaderTopic), Partition: number(r, stage.HeaderPartition), Offset: number(r, stage.HeaderOffset)}
	if id.Topic == "" {
		id.Stream, id.Key = header(r, stage.HeaderStreamOf), append([]byte(nil), r.Key...)
		if id.Stream == "" {
			id.Offset = int64(r.Offset)
		}
	}
	return id
}

func header(r *kafka.Record, name string) string {
	v, _ := r.Header(name)
	return string(v)
}

func number(r *kafka.Record, name string) int64 {
	n, err := strconv.ParseInt(header(r, name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// document is a record in the form of the API.
func document(id identity, r *kafka.Record) api.DeadLetter {
	return api.DeadLetter{
		Source: header(r, stage.HeaderSource), Stream: orNull(header(r, stage.HeaderStreamOf)), Topic: id.Topic, Partition: int32(id.Partition),
		Offset: common.Int64(id.Offset), Code: header(r, stage.HeaderCode), Reason: header(r, stage.HeaderReason), Time: time.UnixMilli(r.TimestampMs).UTC(),
		Key: textOrNull(r.Key), Value: textOrNull(r.Value), ValueBase64: base64.StdEncoding.EncodeToString(r.Value),
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// textOrNull is bytes as text, if they are.
func textOrNull(b []byte) *string {
	if b == nil || !utf8.Valid(b) {
		return nil
	}
	s := string(b)
	return &s
}

// kafkaProblem gives an error of Kafka its form for the client.
func kafkaProblem(topic string, err error) error {
	code := problem.Code(kafka.CodeOf(err))
	if entry, ok := problem.Lookup(code); ok && entry.Status > 0 {
		e := problem.Wrap(err, code, "topic %s", topic)
		if entry.Retryable {
			e.RetryAfter = retryAfter
		}
		return e
	}
	return fmt.Errorf("list topic %s: %w", topic, err)
}
