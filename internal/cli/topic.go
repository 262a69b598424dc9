package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/api/scalar"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/connect"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

func (a *app) topic() *cobra.Command {
	cmd := &cobra.Command{
		Use: "topic", Short: "Topics of sources: make one, look at one",
		Long: `A source reads a topic that is there: Pondage makes the topics of edges and outputs, never that of a source, whose partitions
and retention are its owner's to choose. These commands are for brokers without tools of their own, such as the embedded one.`,
		Example: "  pondage topic create flights --partitions 4\n  pondage topic get flights --kafka kafka:9092",
	}
	cmd.AddCommand(a.topicCreate(), a.topicGet())
	return cmd
}

// onTopics makes a command one that talks to brokers: it gets the flags for that.
func onTopics(cmd *cobra.Command, do func(ctx context.Context, c *kafka.Client, f render.Format, name string) error) *cobra.Command {
	cfg := config.DefaultTopics()
	loader := config.NewLoader(&cfg)
	bind(cmd, loader)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if err := load(cmd, loader); err != nil {
			return err
		}
		settings, err := connect.KafkaSettings(cfg.Kafka)
		if err != nil {
			return err
		}
		c, err := kafka.Open(settings)
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd.Context(), c, f, args[0])
	}
	return cmd
}

func (a *app) topicCreate() *cobra.Command {
	spec := kafka.TopicSpec{Partitions: 1}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a topic", Example: "  pondage topic create flights --partitions 4\n  pondage topic create flights --setting retention.ms=-1",
	}
	cmd.Flags().IntVar(&spec.Partitions, "partitions", spec.Partitions, "number of partitions: how many vgroups can read it side by side")
	cmd.Flags().IntVar(&spec.ReplicationFactor, "replication", 0, "replicas of each partition; 0 is the cluster's default")
	cmd.Flags().StringToStringVar(&spec.Settings, "setting", nil, "setting of the topic, `name=value`; may be repeated")
	return onTopics(cmd, func(ctx context.Context, c *kafka.Client, f render.Format, name string) error {
		if spec.Partitions < 1 || spec.ReplicationFactor < 0 {
			return usage("--partitions is at least 1, --replication at least 0")
		}
		spec.Name = name
		if _, err := c.CreateTopic(ctx, spec); err != nil {
			return err
		}
		return a.report(f, outcome{Kind: "topic", Name: name, Outcome: applied})
	})
}

// topicPartition is a partition as it is shown. Offsets are strings, like all 64-bit integers.
type topicPartition struct {
	Partition ident.Partition `json:"partition"`
	Leader    int32           `json:"leader"`
	Replicas  int             `json:"replicas"`
	InSync    int             `json:"in_sync"`
	First     scalar.Int64    `json:"first"`
	End       scalar.Int64    `json:"end"`
}

func (a *app) topicGet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show the partitions and offsets of a topic", Example: "  pondage topic get flights",
	}
	return onTopics(cmd, func(ctx context.Context, c *kafka.Client, f render.Format, name string) error {
		partitions, err := topicPartitions(ctx, c, name)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(struct {
			Name       string           `json:"name"`
			Partitions []topicPartition `json:"partitions"`
		}{name, partitions})
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{Columns: []string{"partition", "first", "end", "records", "leader", "in sync"}}
			for _, p := range partitions {
				g.Add(fmt.Sprint(p.Partition), p.First.String(), p.End.String(), render.Number(int64(p.End-p.First)), fmt.Sprint(p.Leader), fmt.Sprintf("%d/%d", p.InSync, p.Replicas))
			}
			return a.grid(g)
		})
	})
}

func topicPartitions(ctx context.Context, c *kafka.Client, name string) ([]topicPartition, error) {
	t, err := c.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	starts, err := c.Starts(ctx, name)
	if err != nil {
		return nil, err
	}
	ends, err := c.Ends(ctx, name)
	if err != nil {
		return nil, err
	}
	out := make([]topicPartition, 0, len(t.Partitions))
	for i, p := range t.Partitions {
		n := ident.Partition(i)
		out = append(out, topicPartition{
			Partition: n, Leader: p.Leader, Replicas: len(p.Replicas), InSync: len(p.InSync), First: scalar.Int64(starts[n]), End: scalar.Int64(ends[n]),
		})
	}
	return out, nil
}
