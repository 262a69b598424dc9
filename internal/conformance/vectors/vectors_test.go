package vectors_test

import (
	"testing"

	"github.com/pondage/pondage/internal/conformance/vectors"
)

const dir = "../../../test/conformance/testdata/windows"

// TestVectors runs every vector in virtual time.
func TestVectors(t *testing.T) {
	t.Parallel()
	tally, err := vectors.Run(t.Context(), dir, vectors.Virtual{}, func(o vectors.Outcome) {
		if o.Verdict == vectors.Failed {
			t.Error(o)
		}
		t.Log(o)
	})
	if err != nil {
		t.Fatal(err)
	}
	if tally.Passed == 0 {
		t.Error("no vector was run")
	}
}
