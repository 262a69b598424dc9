package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/pondage/pondage/internal/ident"
)

// Starts returns the first offset of each partition.
func (c *Client) Starts(ctx context.Context, topic string) (Offsets, error) {
	return c.list(ctx, "list start offsets", topic, c.admin.ListStartOffsets)
}

// Ends returns the high watermark of each partition: the position behind the last record.
func (c *Client) Ends(ctx context.Context, topic string) (Offsets, error) {
	return c.list(ctx, "list end offsets", topic, c.admin.ListEndOffsets)
}

// Stables returns the last stable offset of each partition: where ReadCommitted ends at the moment.
func (c *Client) Stables(ctx context.Context, topic string) (Offsets, error) {
	return c.list(ctx, "list stable offsets", topic, c.admin.ListCommittedOffsets)
}

// At returns for each partition the first offset whose Kafka timestamp is ms (since the epoch) or later, the end where
// there is none.
func (c *Client) At(ctx context.Context, topic string, ms int64) (Offsets, error) {
	return c.list(ctx, "list offsets by time", topic, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return c.admin.ListOffsetsAfterMilli(ctx, ms, topics...)
	})
}

type lister func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

func (c *Client) list(ctx context.Context, op, topic string, ask lister) (offsets Offsets, err error) {
	err = c.whileBusy(ctx, func(ctx context.Context) error {
		listed, err := ask(ctx, topic)
		if err != nil {
			return classify(op, topic, NoPartition, err)
		}
		offsets = Offsets{}
		for n, o := range listed[topic] {
			if o.Err != nil {
				return classify(op, topic, ident.Partition(n), o.Err)
			}
			offsets[ident.Partition(n)] = ident.NextOffset(o.Offset)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// whileBusy repeats a question to the leaders of partitions while one of them is about to be another broker, until the
// call's deadline: the metadata may name the leader of a new topic before that broker knows of it.
func (c *Client) whileBusy(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var wait backoff
	for {
		err := ask(ctx)
		if CodeOf(err) != CodeBrokerBusy || !pause(ctx, wait.next()) {
			return err
		}
	}
}

// DeleteRecords deletes what lies before the offsets. A partition whose log begins later already is left as it is; an
// offset behind the end is CodeOffsetsLost.
func (c *Client) DeleteRecords(ctx context.Context, topic string, before Offsets) error {
	asked := kadm.Offsets{}
	for p, o := range before {
		asked.AddOffset(topic, int32(p), int64(o), -1)
	}
	return c.whileBusy(ctx, func(ctx context.Context) error {
		answer, err := c.admin.DeleteRecords(ctx, asked)
		if err != nil {
			return classify("delete records", topic, NoPartition, err)
		}
		var errs []error
		for p, r := range answer[topic] {
			errs = append(errs, classify("delete records", topic, ident.Partition(p), r.Err))
		}
		return errors.Join(errs...)
	})
}
