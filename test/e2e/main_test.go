package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	_ "time/tzdata"
)

// The environment of the suite.
const (
	envKafka  = "PONDAGE_E2E_KAFKA" // number of brokers of a real Kafka; unset: the embedded broker
	envScript = "PONDAGE_KAFKA_SH"  // starts a real Kafka
)

// atEnd runs after all tests, the last added first.
var atEnd struct {
	sync.Mutex
	do []func() error
}

func whenDone(do func() error) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.do = append(atEnd.do, do)
}

func TestMain(m *testing.M) {
	status := m.Run()
	for i := len(atEnd.do) - 1; i >= 0; i-- {
		if err := atEnd.do[i](); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			status = 1
		}
	}
	os.Exit(status)
}

// errNoScript is why a run on a real Kafka is skipped.
var errNoScript = errors.New(envKafka + " is set, but " + envScript + " names no script that starts a Kafka")

// outsideKafka returns the addresses of a real Kafka, or none when the embedded broker is to be used.
var outsideKafka = sync.OnceValues(func() ([]string, error) {
	brokers := os.Getenv(envKafka)
	if brokers == "" {
		return nil, nil
	}
	if _, err := strconv.Atoi(brokers); err != nil {
		return nil, fmt.Errorf("%s=%q: want a number of brokers", envKafka, brokers)
	}
	script := os.Getenv(envScript)
	if _, err := os.Stat(script); script == "" || err != nil {
		return nil, errNoScript
	}
	dir, err := os.MkdirTemp("", "pondage-e2e-kafka-")
	if err != nil {
		return nil, err
	}
	whenDone(func() error { return exec.Command(script, "stop", "--dir", dir, "--wipe").Run() })
	start := exec.CommandContext(context.Background(), script, "start", "--dir", dir, "--port", "0", "--brokers", brokers)
	start.Stderr = os.Stderr
	out, err := start.Output()
	if err != nil {
		return nil, fmt.Errorf("start Kafka: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), ","), nil
})

// skipWithoutKafka returns the brokers of a real Kafka, if there is to be one.
func skipWithoutKafka(t testing.TB) []string {
	t.Helper()
	brokers, err := outsideKafka()
	if errors.Is(err, errNoScript) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return brokers
}
