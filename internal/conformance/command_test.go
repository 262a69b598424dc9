package conformance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/conformance"
)

const dir = "../../test/conformance/testdata/windows"

// run runs the command and returns its standard output.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := conformance.Command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestClosingLine(t *testing.T) {
	t.Parallel()
	out, err := run(t, "--vectors", dir)
	if err != nil || !strings.HasSuffix(out, "\n11 passed, 0 failed, 84 skipped\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFailureIsAnError: the closing line is there all the same.
func TestFailureIsAnError(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(dir, "tumbling_10s_late_row_counted.json"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := t.TempDir()
	if err := os.WriteFile(filepath.Join(wrong, "x.json"), bytes.Replace(text, []byte(`"expected": [`), []byte(`"expected": [{"_wstart": 0, "c1": 1},`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "--vectors", wrong)
	if err == nil || !strings.HasPrefix(out, "FAIL ") || !strings.HasSuffix(out, "\n0 passed, 1 failed, 0 skipped\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestThroughTheStack runs the vectors through REST, Kafka, tasks and results.
func TestThroughTheStack(t *testing.T) {
	t.Parallel()
	out, err := run(t, "--vectors", dir, "--e2e")
	if err != nil || !strings.HasSuffix(out, "\n11 passed, 0 failed, 84 skipped\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
