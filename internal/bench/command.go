package bench

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Defaults of the flags: the first case of the peer benchmarks.
const (
	defaultDevices    = 1000
	defaultStep       = time.Millisecond
	defaultPartitions = 4
	defaultRuns       = 3
	defaultInterval   = 10 * time.Second // of checkpoints, as of a stream that says nothing
)

// Command returns `bench` with a subcommand for each query.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a query over records in Kafka and compare every result with a batch computation",
		Long: `Writes telemetry records into a Kafka topic, lets a stream aggregate them into another one, and compares every
result with a batch computation over the same records. Prints a line of JSON for each run: the first of the process is
cold, the others are warm. CPU and memory are those of a process with coordinator and node and of its private Postgres,
never the broker's.`,
	}
	for _, q := range queries {
		cmd.AddCommand(queryCommand(q))
	}
	cmd.AddCommand(latencyCommand(), recoveryCommand())
	cmd.AddCommand(&cobra.Command{
		Use: "measure", Hidden: true, Short: "The measured process of bench: reads a job from standard input", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}

func queryCommand(q Query) *cobra.Command {
	c := Case{Query: q}
	cmd := &cobra.Command{
		Use: q.Name,
		// What is wrong with the flags is wrong usage, like an argument too many.
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), c.validate())
		},
		Short: "Windows of " + q.Size.String() + ", one every " + q.Step.String(),
	}
	f := cmd.Flags()
	f.Int64Var(&c.Records.Count, "records", q.Records, "how many records")
	f.Uint64Var(&c.Records.Devices, "devices", defaultDevices, "how many devices they come from")
	f.DurationVar(&c.Records.Step, "step", defaultStep, "event time from one record to the next, whole microseconds; 10us for 100,000 devices")
	f.IntVar(&c.Partitions, "partitions", defaultPartitions, "partitions of the records' topic")
	f.IntVar(&c.Runs, "runs", defaultRuns, "runs in one process")
	c.Sink.flags(f)
	f.BoolVar(&c.Check, "check", true, "compare every result")
	f.StringSliceVar(&c.Kafka, "kafka", nil, "brokers, host:port; without, the embedded one is started as a process of its own")
	f.StringVar(&c.Postgres, "postgres", "", "`URL` of the metastore; without, a private Postgres is started and counted")
	f.Int64Var(&c.Memory, "memory", 0, "bytes for the worker's queues and buffers; 0 is the default of dev")
	f.StringVar(&c.CPUProfile, "cpuprofile", "", "write a CPU profile of the measured process to this `file`")
	f.StringVar(&c.MemProfile, "memprofile", "", "write an allocation profile of the measured process to this `file`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		self, err := thisCommand(strings.Fields(cmd.Parent().CommandPath())[1:])
		if err != nil {
			return err
		}
		d := driver{c: c, self: self, out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
		return d.run(cmd.Context())
	}
	return cmd
}

// Defaults of latency: the workload of the peers' measurement.
const (
	defaultRate     = 20_000
	defaultDuration = time.Minute
)

func latencyCommand() *cobra.Command {
	var l Live
	cmd := &cobra.Command{
		Use: "latency",
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), l.validate())
		},
		Short: "Time from the moment that the watermark allows a window to the visibility of its results",
	}
	f := cmd.Flags()
	f.Float64Var(&l.Rate, "rate", defaultRate, "records a second")
	f.DurationVar(&l.Duration, "duration", defaultDuration, "how long records are written")
	f.Uint64Var(&l.Devices, "devices", defaultDevices, "how many devices they come from")
	f.IntVar(&l.Partitions, "partitions", defaultPartitions, "partitions of the records' topic")
	l.Sink.flags(f)
	f.StringSliceVar(&l.Kafka, "kafka", nil, "brokers, host:port; without, the embedded one is started as a process of its own")
	f.StringVar(&l.Postgres, "postgres", "", "`URL` of the metastore; without, a private Postgres is started")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		self, err := thisCommand(strings.Fields(cmd.Parent().CommandPath())[1:])
		if err != nil {
			return err
		}
		d := driver{self: self, out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
		return d.latency(cmd.Context(), l)
	}
	return cmd
}

// defaultWindows is what the promise about recovery is for.
const defaultWindows = 1_000_000

func recoveryCommand() *cobra.Command {
	var l Loss
	cmd := &cobra.Command{
		Use: "recovery",
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), l.validate())
		},
		Short: "Time from the restart of a killed worker with many open windows to its first result",
		Long: `Fills windows that stay open, one a device, takes a checkpoint, kills the only worker (kill -9), starts it again at once and
writes one more record. Prints a line of JSON for each run: when, since the start of the new process, the coordinator knew it,
the stage was placed, all tasks had their state, and a reader of the output topic saw the result of that record.`,
	}
	f := cmd.Flags()
	f.Uint64Var(&l.Windows, "windows", defaultWindows, "open windows, one a device")
	f.IntVar(&l.Runs, "runs", defaultRuns, "how often the worker is killed")
	f.IntVar(&l.Partitions, "partitions", defaultPartitions, "partitions of the records' topic")
	f.StringSliceVar(&l.Kafka, "kafka", nil, "brokers, host:port; without, the embedded one is started as a process of its own")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		self, err := thisCommand(strings.Fields(cmd.Parent().CommandPath())[1:])
		if err != nil {
			return err
		}
		d := driver{self: self, out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
		return d.recovery(cmd.Context(), l)
	}
	return cmd
}
