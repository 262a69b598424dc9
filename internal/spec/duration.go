package spec

import (
	"fmt"

	"github.com/pondage/pondage/internal/sql"
)

// Duration is a length of time as it is written: `15m`. A bare 0 is read as 0s.
type Duration struct{ sql.Duration }

// ParseDuration reads a duration.
func ParseDuration(text string) (Duration, error) {
	if text == "0" {
		return Duration{sql.Duration{Unit: sql.UnitSecond}}, nil
	}
	v, err := sql.ParseDuration(text)
	if err != nil { // it speaks of tokens and places in a statement
		return Duration{}, fmt.Errorf("%q is not a duration in the range of 64 bits", text)
	}
	return Duration{v}, nil
}

// Millis returns the duration in milliseconds, a day counting as 24 hours. ok is false for months and years, which
// have no fixed length, and beyond int64.
func (d Duration) Millis() (ms int64, ok bool) {
	ms, err := d.FixedMs()
	return ms, err == nil
}

func (d *Duration) decode(dec *decoder, at string, n *node) {
	if n.kind != nodeString && n.kind != nodeNumber {
		dec.wrongType(at, n, "a duration")
		return
	}
	v, err := ParseDuration(n.text)
	if err != nil {
		dec.fault(CodeInvalidValue, at, "a number and a unit: ms, s, m (minute), h, d, w, n (month), y; for example 15m", "%v", err)
		return
	}
	*d = v
}

func (d Duration) encode() *node { return newString(d.String()) }
