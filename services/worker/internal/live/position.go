package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/ident"
)

// String is the id of a server-sent event: where to go on behind it. "3/12.0.55" is stage 3, vgroups 0, 1 and 2.
func (p Position) String() string {
	parts := make([]string, len(p.Next))
	for i, n := range p.Next {
		parts[i] = strconv.FormatUint(n, 10)
	}
	return fmt.Sprintf("%d/%s", p.Stage, strings.Join(parts, "."))
}

// ParsePosition is the inverse of Position.String, for the header Last-Event-ID.
func ParsePosition(s string) (Position, error) {
	stage, rest, ok := strings.Cut(s, "/")
	st, err := strconv.ParseInt(stage, 10, 64)
	if !ok || err != nil {
		return Position{}, fmt.Errorf("event id %q: want the id of an event of this stream", s)
	}
	p := Position{Stage: ident.Stage(st)}
	for part := range strings.SplitSeq(rest, ".") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return Position{}, fmt.Errorf("event id %q: want the id of an event of this stream", s)
		}
		p.Next = append(p.Next, n)
	}
	return p, nil
}
