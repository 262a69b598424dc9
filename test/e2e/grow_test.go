package e2e

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// growTopic sets the number of a topic's partitions. The product never does that, so its client cannot.
func growTopic(ctx context.Context, brokers []string, topic string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	answers, err := kadm.NewClient(client).UpdatePartitions(ctx, partitions, topic)
	if err != nil {
		return err
	}
	return answers.Error()
}
