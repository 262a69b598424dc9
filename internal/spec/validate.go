package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/invalid"
)

// maxName is the longest name of an object, in bytes: Postgres cuts identifiers at 63.
const maxName = 63

// checkName refuses what is not [a-z][a-z0-9_]{0,62}.
func (d *decoder) checkName(at, name string) {
	ok := name != "" && len(name) <= maxName && name[0] >= 'a' && name[0] <= 'z'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
	}
	if !ok {
		d.fault(CodeInvalidName, at, fmt.Sprintf("1 to %d letters a-z, digits and _, beginning with a letter", maxName), "%q is not a name", name)
	}
}

// checkWord refuses a word that is not in the list; an absent one is fine.
func checkWord[T ~string](d *decoder, at string, word T, words []T) {
	if word == "" || slices.Contains(words, word) {
		return
	}
	hint := "one of " + oneOf(words)
	list := strings.Split(oneOf(words), ", ")
	if near := invalid.Nearest(string(word), list); near != "" {
		hint = "did you mean " + near + "?"
	}
	d.fault(CodeInvalidValue, at, hint, "unknown value %q", string(word))
}

// checkElapsed refuses a negative duration, and one in months or years where time passes: only windows know calendars.
func (d *decoder) checkElapsed(at string, v *Duration) {
	if v == nil {
		return
	}
	if _, err := v.FixedMs(); err != nil {
		d.fault(CodeInvalidValue, at, "use ms, s, m, h, d or w", "%v", err)
	}
	if v.N < 0 {
		d.fault(CodeInvalidValue, at, "", "%s is negative", v)
	}
}

// checkAtLeast refuses a count below the least.
func (d *decoder) checkAtLeast(at string, v *int64, least int64) {
	if v != nil && *v < least && !d.has(at) {
		d.fault(CodeInvalidValue, at, "", "want at least %d, found %d", least, *v)
	}
}
