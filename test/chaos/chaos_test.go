package chaos

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// run builds the binary that has failpoints and runs it; it returns what was said on both outputs.
func run(t *testing.T, args ...string) (out, told string, err error) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "pondage")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "failpoints", "-o", bin, "../../cmd/pondage").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"chaos"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// closing is the last line of a run in which everything was equal.
var closing = regexp.MustCompile(`^seed \d+: [1-9]\d* results equal, 0 lost, 0 duplicated, 0 changed$`)

// TestAShortRun: a little of everything that needs nothing but this repository.
func TestAShortRun(t *testing.T) {
	t.Parallel()
	out, told, err := run(t, "--seed", "1", "--duration", "15s", "--no-twin", "--sinks", "upsert", "--faults", "kill,stop,restart,broker,postgres,net,failpoint")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || !closing.MatchString(lines[len(lines)-1]) {
		t.Errorf("%v\n%s%s", err, told, out)
	}
}
