package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pondage/pondage/internal/bench"
	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
)

// TestMain is the program itself where the benchmark starts it again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"bench", "broker", "coordinator", "worker"}, os.Args[1]) {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		status := cli.Run(ctx, cli.Shell{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:], commands.All()...)
		stop()
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func TestEachRunIsALineWithEveryResultCompared(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	status := cli.Run(t.Context(), cli.Shell{Out: &out, Err: &log},
		strings.Fields("bench sliding --records 20000 --devices 50 --step 10ms --runs 2"), commands.All()...)
	if status != cli.StatusDone {
		t.Fatalf("status %d: %s", status, &log)
	}
	var phases []string
	for dec := json.NewDecoder(&out); dec.More(); {
		var r bench.Result
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		phases = append(phases, r.Phase)
		if r.Different == nil || *r.Different != 0 || r.Results < 50*200 {
			t.Errorf("%+v: want some 260 windows of 50 devices, none different", r)
		}
		if r.Query != "sliding" || r.Records != 20_000 || r.Devices != 50 || r.Output != "kafka" || r.Delivery != "at_least_once" {
			t.Errorf("%+v: not what was asked for", r)
		}
		if r.CPUS <= 0 || r.WallS <= 0 || r.SteadyWallS > r.WallS || r.RecordsPerS <= 0 || r.RecordsPerCPUS <= 0 || r.PeakRSSMB <= 0 {
			t.Errorf("%+v: not measured", r)
		}
	}
	if !slices.Equal(phases, []string{"cold", "warm"}) {
		t.Errorf("phases %v", phases)
	}
}

func TestWrongFlagsAreToldTogether(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	status := cli.Run(t.Context(), cli.Shell{Out: &bytes.Buffer{}, Err: &log},
		strings.Fields("bench tumbling --records 0 --devices 0 --step 5ns --runs 0"), commands.All()...)
	if status != cli.StatusUsage {
		t.Errorf("status %d, want %d", status, cli.StatusUsage)
	}
	for _, flag := range []string{"--records", "--devices", "--step", "--runs"} {
		if !strings.Contains(log.String(), flag) {
			t.Errorf("%q does not name %s", &log, flag)
		}
	}
}

func TestRecoveryTellsWhatItsTimeIsMadeOf(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	status := cli.Run(t.Context(), cli.Shell{Out: &out, Err: &log}, strings.Fields("bench recovery --windows 2000 --runs 2"), commands.All()...)
	if status != cli.StatusDone {
		t.Fatalf("status %d: %s", status, &log)
	}
	runs := 0
	for dec := json.NewDecoder(&out); dec.More(); runs++ {
		var r bench.RecoveryResult
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Windows != 2000 || r.Different != 0 || r.Bytes < 2000 {
			t.Errorf("%+v: not what was asked for", r)
		}
		if r.RegisteredMs <= 0 || r.PlacedMs < r.RegisteredMs || r.RestoredMs < r.PlacedMs || r.ResultMs < r.PlacedMs {
			t.Errorf("%+v: the steps are not in order", r)
		}
	}
	if runs != 2 {
		t.Errorf("%d lines, want 2", runs)
	}
}
