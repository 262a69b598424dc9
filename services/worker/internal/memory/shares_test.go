package memory

import "testing"

func TestSharesAreEqualAndAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	const whole = 60 << 20
	s := NewShares(whole)
	first := s.Join()
	if got := first.Bytes(); got != whole {
		t.Errorf("alone: %d", got)
	}
	second, third := s.Join(), s.Join()
	if a, b, c := first.Bytes(), second.Bytes(), third.Bytes(); a != whole/3 || b != a || c != a {
		t.Errorf("of three: %d, %d, %d", a, b, c)
	}
	second.Close()
	second.Close()
	if a, c := first.Bytes(), third.Bytes(); a != whole/2 || c != a {
		t.Errorf("of two: %d, %d", a, c)
	}
	for range 100 {
		s.Join()
	}
	if got := first.Bytes(); got != leastShare {
		t.Errorf("of 102: %d", got)
	}
}
