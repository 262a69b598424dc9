package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
)

// Check returns what is wrong with a value that was decoded with json.Decoder.UseNumber. pointer is where the value
// stands. Faults have the codes of bodies: missing_member, unknown_member, wrong_member_type, invalid_value,
// invalid_format.
func (s *Schema) Check(pointer string, v any) []problem.Fault {
	if len(s.oneOf) > 0 {
		return s.checkOneOf(pointer, v)
	}
	if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(t string) bool { return hasType(v, t) }) {
		return fault(problem.CodeWrongMemberType, pointer, "want %s, found %s", strings.Join(s.types, " or "), typeOf(v))
	}
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		return fault(problem.CodeInvalidValue, pointer, "%s: want one of %s", text(v), list(s.enum))
	}
	switch v := v.(type) {
	case string:
		return s.checkString(pointer, v)
	case json.Number:
		return s.checkNumber(pointer, v)
	case []any:
		return s.checkArray(pointer, v)
	case map[string]any:
		return s.checkObject(pointer, v)
	}
	return nil
}

// checkOneOf takes the faults of the alternative that fits the value's type best.
func (s *Schema) checkOneOf(pointer string, v any) []problem.Fault {
	var best []problem.Fault
	for _, alternative := range s.oneOf {
		faults := alternative.Check(pointer, v)
		if len(faults) == 0 {
			return nil
		}
		if best == nil || (best[0].Pointer == pointer && faults[0].Pointer != pointer) || (best[0].Code == problem.CodeWrongMemberType && faults[0].Code != problem.CodeWrongMemberType) {
			best = faults
		}
	}
	return best
}

func (s *Schema) checkString(pointer, v string) []problem.Fault {
	n := utf8.RuneCountInString(v)
	switch {
	case s.minLength != nil && n < *s.minLength:
		return fault(problem.CodeInvalidValue, pointer, "too short: want at least %d characters", *s.minLength)
	case s.maxLength != nil && n > *s.maxLength:
		return fault(problem.CodeInvalidValue, pointer, "too long: want at most %d characters", *s.maxLength)
	case s.pattern != nil && !s.pattern.MatchString(v):
		return fault(problem.CodeInvalidFormat, pointer, "%s: want the form %s", text(v), s.pattern)
	case s.format == "date-time" && !isTime(v):
		return fault(problem.CodeInvalidFormat, pointer, "%s: want an RFC 3339 time with a zone, such as 2026-07-28T08:00:00Z", text(v))
	}
	return nil
}

// isTime is strict where time.Parse is: the day exists, the zone is there and is one. What RFC 3339 allows beyond that
// (a lower-case t, a leap second) is refused.
func isTime(v string) bool {
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return false
	}
	_, err = t.MarshalJSON() // refuses zones such as +25:00
	return err == nil && !strings.Contains(v, ",")
}

func (s *Schema) checkNumber(pointer string, v json.Number) []problem.Fault {
	f, err := v.Float64()
	switch {
	case err != nil:
		return fault(problem.CodeInvalidValue, pointer, "%s is out of range", v)
	case s.minimum != nil && f < *s.minimum:
		return fault(problem.CodeInvalidValue, pointer, "%s: want at least %g", v, *s.minimum)
	case s.maximum != nil && f > *s.maximum:
		return fault(problem.CodeInvalidValue, pointer, "%s: want at most %g", v, *s.maximum)
	case s.format == "int32":
		if _, err := strconv.ParseInt(string(v), 10, 32); err != nil {
			return fault(problem.CodeInvalidValue, pointer, "%s: want a 32-bit integer", v)
		}
	}
	return nil
}

func (s *Schema) checkArray(pointer string, v []any) []problem.Fault {
	if s.minItems != nil && len(v) < *s.minItems {
		return fault(problem.CodeInvalidValue, pointer, "%d items: want at least %d", len(v), *s.minItems)
	}
	if s.items == nil {
		return nil
	}
	var out []problem.Fault
	for i, item := range v {
		out = append(out, s.items.Check(pointer+"/"+strconv.Itoa(i), item)...)
	}
	return out
}

func (s *Schema) checkObject(pointer string, v map[string]any) []problem.Fault {
	var out []problem.Fault
	for _, name := range s.required {
		if _, ok := v[name]; !ok {
			out = append(out, fault(problem.CodeMissingMember, pointer+"/"+escape(name), "member %s is missing", name)...)
		}
	}
	for _, name := range sortedKeys(v) {
		property, known := s.properties[name]
		switch {
		case known:
			out = append(out, property.Check(pointer+"/"+escape(name), v[name])...)
		case s.closed:
			out = append(out, s.unknown(pointer, name))
		}
	}
	return out
}

func (s *Schema) unknown(pointer, name string) problem.Fault {
	f := problem.Fault{Code: problem.CodeUnknownMember, Pointer: pointer + "/" + escape(name), Detail: "unknown member " + text(name)}
	if near := invalid.Nearest(name, sortedKeys(s.properties)); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	return f
}

func fault(code problem.Code, pointer, format string, args ...any) []problem.Fault {
	return []problem.Fault{{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// escape makes a name a token of a JSON pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

func hasType(v any, t string) bool {
	if t == "integer" {
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		_, err := n.Int64()
		return err == nil
	}
	return typeOf(v) == t
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// shown is the longest value that an error repeats.
const shown = 80

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if len(b) > shown {
		return string(b[:shown]) + "…"
	}
	return string(b)
}

func list(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
