package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/failpoint"
)

func TestFailpointsAreListed(t *testing.T) {
	t.Parallel()
	got := run(t, t.Context(), "", "failpoints", "-o", "json")
	var answer struct {
		Built bool
		Items []failpoint.Info
	}
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || got.status != 0 {
		t.Fatalf("status %d, %v: %s", got.status, err, got.out)
	}
	if answer.Built != failpoint.Built || len(answer.Items) != len(failpoint.Points()) {
		t.Errorf("%+v", answer)
	}
	table := run(t, t.Context(), "", "failpoints")
	for _, p := range answer.Items {
		if !strings.Contains(table.out, string(p.Point)) || !strings.Contains(table.out, p.Where) {
			t.Errorf("%+v is not in the table", p)
		}
	}
}

func TestATextOfFailpointsIsChecked(t *testing.T) {
	t.Parallel()
	if got := run(t, t.Context(), "", "failpoints", "--check", "drop-one-block@2+"); got.status != 0 {
		t.Errorf("status %d, %s", got.status, got.err)
	}
	if got := run(t, t.Context(), "", "failpoints", "--check", "drop-one-blok"); got.status != 2 || !strings.Contains(got.err, "drop-one-blok") {
		t.Errorf("status %d, %s", got.status, got.err)
	}
}
