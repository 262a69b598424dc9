package conformance_test

import (
	"testing"

	"github.com/pondage/pondage/internal/conformance"
)

const vectors = "../../test/conformance/testdata/windows"

// TestVectors runs every vector in virtual time.
func TestVectors(t *testing.T) {
	t.Parallel()
	tally, err := conformance.Run(t.Context(), vectors, conformance.Virtual{}, func(o conformance.Outcome) {
		if o.Verdict == conformance.Failed {
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
