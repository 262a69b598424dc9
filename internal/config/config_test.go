package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/pondage/pondage/internal/invalid"
)

// load reads a worker from a file's text, an environment and flags.
func load(t *testing.T, file string, environ, args []string) (Worker, []string, error) {
	t.Helper()
	w := DefaultWorker()
	w.Postgres.URL = "postgres://localhost/x"
	w.Security.ClusterSecret = Secret{From: SecretEnv, Name: "X"}
	l := NewLoader(&w)
	fs := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	l.Bind(fs)
	if file != "" {
		path := filepath.Join(t.TempDir(), "pondage.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	warnings, err := l.Load(environ)
	return w, warnings, err
}

func TestFlagWinsOverEnvironmentOverFileOverDefault(t *testing.T) {
	t.Parallel()
	file := "kafka: {brokers: [file:1]}\nmemory: 1GiB\nlog: {level: debug}\n"
	w, _, err := load(t, file, []string{"PONDAGE_KAFKA_BROKERS=env:1, env:2", "PONDAGE_MEMORY=2GiB"}, []string{"--kafka-brokers=flag:1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.Kafka.Brokers, " "); got != "flag:1" {
		t.Errorf("brokers: %q, want the flag's", got)
	}
	if w.Memory != 2*GiB {
		t.Errorf("memory: %s, want the environment's", w.Memory)
	}
	if w.Log.Level != "debug" {
		t.Errorf("log level: %q, want the file's", w.Log.Level)
	}
	if w.Postgres.ConnectTimeout != 5*time.Second {
		t.Errorf("connect timeout: %s, want the default", w.Postgres.ConnectTimeout)
	}
}

func TestUnknownKeyIsRefusedWithTheNearest(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"kafka: {borkers: [a:1]}\n":   "kafka.brokers",
		"kafak: {brokers: [a:1]}\n":   "kafka",
		"kafka: {tls: {ca: x.pem}}\n": "kafka.tls.",
	} {
		_, _, err := load(t, file, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "did you mean "+want) {
			t.Errorf("%q: %v, want the nearest key %s", file, err, want)
		}
	}
	if _, warnings, err := load(t, "", []string{"PONDAGE_KAFKA_BROKER=a:1", "PONDAGE_PORT_7420_TCP=tcp://10.0.0.1"}, nil); err != nil || len(warnings) != 1 {
		t.Errorf("variables: warnings %q, error %v; want one warning", warnings, err)
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	w := DefaultWorker()
	w.Coordinators = []string{"localhost"}
	w.HTTP.Listen = "0.0.0.0:7421"
	w.Kafka.SASL.Mechanism = "magic"
	w.Kafka.TLS.CAFile = "ca.pem"
	w.Security.Auth = AuthOff
	w.Memory = 1
	w.DispatchMaxBatch = 9 * MiB
	w.WebhookHosts = []string{"https://example.com"}
	var faults *invalid.Error
	if !errors.As(Validate(&w), &faults) {
		t.Fatal("no fault found")
	}
	found := map[string]bool{}
	for _, d := range faults.Details {
		found[d.Pointer] = true
	}
	for _, want := range []string{"/coordinators", "/postgres/url", "/kafka/sasl/mechanism", "/kafka/sasl", "/kafka/tls", "/security/auth", "/security/cluster_secret", "/memory", "/dispatch_max_batch", "/webhook_hosts"} {
		if !found[want] {
			t.Errorf("no fault at %s in:\n%v", want, faults)
		}
	}
}

func TestDefaultsAreValidOnceTheDatabaseAndTheSecretAreNamed(t *testing.T) {
	t.Parallel()
	coordinator, worker, snapshotter, node, broker, dev := DefaultCoordinator(), DefaultWorker(), DefaultSnapshotter(), DefaultNode(), DefaultBroker(), DefaultDev()
	for _, url := range []*string{&coordinator.Postgres.URL, &worker.Postgres.URL, &node.Postgres.URL} {
		*url = "postgres://pondage@localhost/pondage"
	}
	for _, s := range []*Security{&coordinator.Security, &worker.Security, &snapshotter.Security, &node.Security} {
		s.ClusterSecret = Secret{From: SecretEnv, Name: "X"}
	}
	client, doctor, topics := DefaultClient(), DefaultDoctor(), DefaultTopics()
	for _, r := range []Role{&coordinator, &worker, &snapshotter, &node, &broker, &dev, &client, &doctor, &topics} {
		if err := Validate(r); err != nil {
			t.Errorf("%T: %v", r, err)
		}
	}
}

func TestAuthIsOffOnlyInDevOnLoopback(t *testing.T) {
	t.Parallel()
	dev := DefaultDev()
	dev.HTTP.Listen = ":7420"
	dev.Security.ClusterSecret = Secret{From: SecretEnv, Name: "X"}
	if err := Validate(&dev); err == nil || !strings.Contains(err.Error(), "loopback only") {
		t.Errorf("dev on all interfaces without tokens: %v", err)
	}
	w := DefaultCoordinator()
	w.Postgres.URL = "postgres://localhost/x"
	w.Security.Auth = AuthOff
	if err := Validate(&w); err == nil {
		t.Error("a coordinator without tokens is accepted")
	}
}

// Without the secret a process could not sign its questions about names, and would have no token to show instead.
func TestTokensWantAClusterSecretAlsoOnLoopback(t *testing.T) {
	t.Parallel()
	dev := DefaultDev()
	dev.Security.Auth = AuthToken
	if err := Validate(&dev); err == nil || !strings.Contains(err.Error(), "/security/cluster_secret") {
		t.Errorf("dev with tokens and without a secret: %v", err)
	}
	dev.Security.ClusterSecret = Secret{From: SecretEnv, Name: "X"}
	if err := Validate(&dev); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreReferencesAndNeverPrinted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := "kafka: {sasl: {mechanism: plain, username: u, password: {from: file, name: " + path + "}}}\npostgres: {url: 'postgres://u:hunter2@localhost/x'}\n"
	w, _, err := load(t, file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.Kafka.SASL.Password.Resolve(); err != nil || got != "hunter2" {
		t.Errorf("password: %q, %v", got, err)
	}
	if printed := Print(&w); strings.Contains(printed, "hunter2") || !strings.Contains(printed, "postgres.url: postgres://u:xxxxx@localhost/x") {
		t.Errorf("printed:\n%s", printed)
	}
	_, _, err = load(t, "kafka: {sasl: {password: hunter2}}\n", nil, nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret as a value: %v", err)
	}
	if _, err := (Secret{From: SecretFile, Name: path + ".gone"}).Resolve(); err == nil {
		t.Error("a missing file resolves")
	}
}

func TestSizesParseBack(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0": 0, "1000": 1000, "64KiB": 64 * KiB, "4 MiB": 4 * MiB, "1GiB": GiB} {
		var got, again Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != want {
			t.Errorf("%q → %q: %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "-1", "4MB", "x", "9999999999999GiB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d", text, s)
		}
	}
}

func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Page() {
		t.Error("docs/config.md differs: run go generate ./internal/config")
	}
	for _, line := range strings.Split(Page(), "\n") {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |") {
			t.Errorf("a key without a doc comment: %s", line)
		}
	}
}
