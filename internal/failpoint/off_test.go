//go:build !failpoints

package failpoint

import (
	"os/exec"
	"testing"
)

// TestNothingIsLeftOfAPoint: in a build without the tag.
func TestNothingIsLeftOfAPoint(t *testing.T) {
	if Built {
		t.Fatal("built with failpoints")
	}
	if n := testing.AllocsPerRun(1000, func() { step() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// step is code with points in it.
func step() error {
	if err := Hit(StorageFileBeforeSync); err != nil {
		return err
	}
	if On(DropOneBlock) {
		return nil
	}
	return nil
}

func BenchmarkPoints(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Hit(StorageFileBeforeSync); err != nil || On(DropOneBlock) {
			b.Fatal(err)
		}
	}
}

// TestTheBuildThatHasThem runs the tests of that build, here and where points are walked.
func TestTheBuildThatHasThem(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "failpoints", "-run", "Failpoint", ".", "../storage/dirstore", "../../services/worker/internal/sink", "../../services/worker/internal/task")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
