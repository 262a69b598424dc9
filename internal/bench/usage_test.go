package bench

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestCPUOfProcessesBelowIsCounted(t *testing.T) {
	t.Parallel()
	// Two levels below: a shell whose own child burns until it has used a second of CPU, or its parent is killed.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'ulimit -t 1; while :; do :; done'; true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; {
		cpu, err := cpuBelow(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if cpu >= 50*time.Millisecond {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s of CPU below this process after a minute", cpu)
		}
	}
}

func TestUsageGrowsFromTheStartOfTheProcess(t *testing.T) {
	t.Parallel()
	start, err := usageAtStart()
	if err != nil {
		t.Fatal(err)
	}
	now, err := usageNow()
	if err != nil {
		t.Fatal(err)
	}
	s := now.since(start)
	// Both clocks have a resolution of 10 ms.
	const resolution = 20 * time.Millisecond
	if s.CPU <= 0 || s.Wall < -resolution || s.Wall > time.Hour {
		t.Errorf("%s of CPU in %s", s.CPU, s.Wall)
	}
	if peak, err := peakMemory(); err != nil || peak < 1<<20 {
		t.Errorf("peak of %d bytes, %v", peak, err)
	}
}
