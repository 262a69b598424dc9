package control

import (
	"testing"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

func TestAFailureThatGoesOnIsSaidNowAndThen(t *testing.T) {
	t.Parallel()
	var c complaint
	const second = ident.MonoMs(1000)
	if _, ended := c.over(0); ended {
		t.Error("what had not begun is over")
	}
	for round := range ident.MonoMs(2) {
		begun, said := round*100*second, 0
		for now := begun; now < begun+35*second; now += second {
			if c.failed(now) {
				said++
			}
		}
		if said != 4 { // at 0, 10, 20 and 30 s
			t.Errorf("round %d: said %d times in 35 s", round, said)
		}
		if after, ended := c.over(begun + 35*second); !ended || after != 35*time.Second {
			t.Errorf("round %d: over %t after %s", round, ended, after)
		}
		if _, ended := c.over(begun + 36*second); ended {
			t.Errorf("round %d: over twice", round)
		}
	}
}
