package spec

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
)

// decodable is a value with a text form of its own.
type decodable interface {
	decode(d *decoder, at string, n *node)
}

// decoder fills structs from trees by their `spec` tags: `spec:"name"` or `spec:"name,required"`; embedded structs
// without a tag lend their members. It goes on after a fault, so that all are reported.
type decoder struct{ faults []invalid.Detail }

func (d *decoder) fault(code, at, hint, format string, args ...any) {
	d.faults = append(d.faults, invalid.Detail{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// has tells whether a fault was found at the pointer or below it: a rule about an absent value stays silent where the
// value was there and bad.
func (d *decoder) has(at string) bool {
	for _, f := range d.faults {
		if f.Pointer == at || strings.HasPrefix(f.Pointer, at+"/") {
			return true
		}
	}
	return false
}

// err returns every fault.
func (d *decoder) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	return &invalid.Error{Details: d.faults}
}

// wrongType says that n is not of the kind wanted.
func (d *decoder) wrongType(at string, n *node, want string) {
	d.fault(CodeWrongType, at, "", "want %s, found %s", want, n.describe())
}

// describe is the node as an error message shows it.
func (n *node) describe() string {
	switch n.kind {
	case nodeNumber, nodeBool:
		return n.text
	case nodeString:
		return strconv.Quote(n.text)
	}
	return n.kind.String()
}

func (d *decoder) value(at string, n *node, v reflect.Value) {
	if own, ok := v.Addr().Interface().(decodable); ok {
		own.decode(d, at, n)
		return
	}
	if t, ok := v.Addr().Interface().(*block.Type); ok {
		d.columnType(at, n, t)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(at, n, v.Elem())
	case reflect.Struct:
		d.object(at, n, v)
	case reflect.Slice:
		d.list(at, n, v)
	case reflect.String:
		if text, ok := d.text(at, n); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if n.kind != nodeBool {
			d.wrongType(at, n, "true or false")
			return
		}
		v.SetBool(n.text == "true")
	case reflect.Int64:
		if i, ok := d.integer(at, n); ok {
			v.SetInt(i)
		}
	default:
		panic("spec: no way to decode a " + v.Type().String())
	}
}

func (d *decoder) object(at string, n *node, v reflect.Value) {
	if n.kind != nodeObject {
		d.wrongType(at, n, "an object")
		return
	}
	fields := fieldsOf(v.Type())
	for _, m := range n.members {
		f, ok := fields.find(m.name)
		if !ok {
			d.unknown(at, m.name, fields.names())
			continue
		}
		// A null member is an absent one, except where the type gives null a meaning of its own (Limit).
		if m.value.kind == nodeNull && !f.takesNull {
			continue
		}
		d.value(at+"/"+escapePointer(m.name), m.value, v.FieldByIndex(f.index))
	}
	for _, f := range fields {
		if f.required && n.get(f.name).empty() {
			d.fault(CodeMissingMember, at, "add "+f.name, "%s is missing", f.name)
		}
	}
}

// empty tells whether nothing was given: no member, null, or an empty string.
func (n *node) empty() bool {
	return n == nil || n.kind == nodeNull || (n.kind == nodeString && n.text == "")
}

func (d *decoder) unknown(at, name string, known []string) {
	hint := "known here: " + strings.Join(known, ", ")
	if near := invalid.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	d.fault(CodeUnknownMember, at+"/"+escapePointer(name), hint, "unknown member %q", name)
}

func (d *decoder) list(at string, n *node, v reflect.Value) {
	if n.kind == nodeString && v.Type().Elem() == reflect.TypeFor[string]() {
		n = splitList(n) // SQL has no lists
	}
	if n.kind != nodeArray {
		d.fault(CodeWrongType, at, "write it as [ … ]", "want a list, found %s", n.describe())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		d.value(at+"/"+strconv.Itoa(i), item, v.Index(i))
	}
}

// splitList makes a list of a string of words separated by commas.
func splitList(n *node) *node {
	out := newArray().located(n.at)
	for _, word := range strings.Split(n.text, ",") {
		out.items = append(out.items, newString(strings.TrimSpace(word)))
	}
	return out
}

// text returns the text of a string node.
func (d *decoder) text(at string, n *node) (string, bool) {
	if n.kind != nodeString {
		d.wrongType(at, n, "a string")
		return "", false
	}
	return n.text, true
}

// integer returns the value of a number, or of a string that holds one (64-bit integers are strings in JSON).
func (d *decoder) integer(at string, n *node) (int64, bool) {
	if n.kind != nodeNumber && n.kind != nodeString {
		d.wrongType(at, n, "an integer")
		return 0, false
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		d.fault(CodeInvalidValue, at, "write it in decimal digits", "%s is not an integer between %d and %d", n.describe(), math.MinInt64, math.MaxInt64)
	}
	return i, err == nil
}

func (d *decoder) columnType(at string, n *node, t *block.Type) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	parsed, err := block.ParseType(text)
	if err != nil {
		d.fault(CodeInvalidValue, at, "types: "+strings.Join(block.TypeNames(), ", "), "%v", err)
		return
	}
	*t = parsed
}
