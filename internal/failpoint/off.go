//go:build !failpoints

package failpoint

// Built tells whether this program has failpoints.
const Built = false

// Hit does what the point is switched to; here nothing.
func Hit(Point) error { return nil }

// On tells whether a misbehaviour is to be done now; here never.
func On(Point) bool { return false }
