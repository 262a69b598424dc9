package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Kinds of outputs and their deliveries, as specs spell them.
const (
	SinkKafka     = "kafka"
	SinkPostgres  = "postgres"
	AtLeastOnce   = "at_least_once"
	Transactional = "transactional"
	Upsert        = "upsert"
)

// deliveries of each kind; the first is the one where nothing is said.
var deliveries = map[string][]string{
	SinkKafka:    {AtLeastOnce, Transactional},
	SinkPostgres: {Upsert, Transactional},
}

const (
	shortestInterval = 100 * time.Millisecond // that a stream takes (DESIGN §7)
	// noInterval is for a stream without checkpoints by time: longer than any run.
	noInterval = 24 * time.Hour
)

// Sink is where results go, how, and how often the stream takes checkpoints.
type Sink struct {
	Kind        string
	Delivery    string
	Checkpoints time.Duration // 0: none, but the last one of a stream that ends
}

func (s *Sink) flags(f *pflag.FlagSet) {
	f.StringVar(&s.Kind, "output", SinkKafka, "where the results go: kafka or postgres")
	f.StringVar(&s.Delivery, "delivery", "", "at-least-once (the default of kafka), upsert (of postgres) or transactional")
	f.DurationVar(&s.Checkpoints, "checkpoint-interval", defaultInterval, "time between checkpoints; 0 for none but the last of a stream that ends")
}

// validate also brings the delivery into the form of specs.
func (s *Sink) validate() error {
	allowed, ok := deliveries[s.Kind]
	if !ok {
		return fmt.Errorf("--output must be %s or %s", SinkKafka, SinkPostgres)
	}
	s.Delivery = strings.ReplaceAll(s.Delivery, "-", "_")
	if s.Delivery == "" {
		s.Delivery = allowed[0]
	}
	if !slices.Contains(allowed, s.Delivery) {
		return fmt.Errorf("--delivery of %s must be one of %s", s.Kind, strings.Join(allowed, ", "))
	}
	return nil
}

func (s Sink) interval() time.Duration {
	if s.Checkpoints == 0 {
		return noInterval
	}
	return s.Checkpoints
}

// name is the topic or the table of the results of a run.
func (s Sink) name(topic string, run int) string {
	if s.Kind == SinkPostgres {
		return fmt.Sprintf("bench_out_%d", run)
	}
	return fmt.Sprintf("%s-out-%d", topic, run)
}
