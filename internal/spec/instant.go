package spec

import (
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// Instant is a point in time, written in RFC 3339 with a zone. Finer than a millisecond is rounded down.
type Instant ident.EventMs

// secondsPerDay bounds the offset of a zone: time.Parse takes +24:00, RFC 3339 does not (trap T61).
const secondsPerDay = 24 * 60 * 60

// ParseInstant reads an RFC 3339 time between the years 0001 and 9999. A time without a zone is refused.
func ParseInstant(text string) (Instant, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time in RFC 3339 with a zone", text)
	}
	if _, offset := t.Zone(); offset <= -secondsPerDay || offset >= secondsPerDay {
		return 0, fmt.Errorf("%q has a zone offset of a day or more", text)
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return 0, fmt.Errorf("%q lies outside the years 0001 to 9999", text)
	}
	return Instant(t.UnixMilli()), nil
}

// String returns the instant in UTC with milliseconds.
func (i Instant) String() string {
	return time.UnixMilli(int64(i)).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (i *Instant) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	v, err := ParseInstant(text)
	if err != nil {
		d.fault(CodeInvalidValue, at, "for example 2026-07-28T08:00:00Z", "%v", err)
		return
	}
	*i = v
}

func (i Instant) encode() *node { return newString(i.String()) }
