package spec

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAHugeSpecIsRefusedInTime feeds documents at the limit of size: reading one takes time in proportion to it.
func TestAHugeSpecIsRefusedInTime(t *testing.T) {
	t.Parallel()
	var json, yaml strings.Builder
	json.WriteString(`{"name":"s","columns":[`)
	for i := 0; json.Len() < maxDocument-100; i++ {
		fmt.Fprintf(&json, `{"m%d":1},`, i)
	}
	json.WriteString("1]}")
	for i := 0; yaml.Len() < maxDocument-100; i++ {
		fmt.Fprintf(&yaml, "m%d: 1\n", i)
	}
	for name, text := range map[string]string{"json": json.String(), "yaml": yaml.String(), "too large": strings.Repeat(" ", maxDocument+1), "deep": strings.Repeat("[", maxDocument-1)} {
		begin := time.Now()
		if _, err := ParseSource([]byte(text)); err == nil {
			t.Errorf("%s: a document of nonsense was read", name)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}
