package spec

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
)

// encodable is the inverse of decodable. The zero value of a type stands for an absent member and is not asked.
type encodable interface{ encode() *node }

// canonical returns the stable JSON form of a Source or Stream: members in the order of the struct, absent ones left
// out, no white space.
func canonical(object any) []byte {
	return encodeValue(reflect.ValueOf(object).Elem()).appendJSON(nil)
}

func encodeValue(v reflect.Value) *node {
	if own, ok := v.Interface().(encodable); ok {
		return own.encode()
	}
	if t, ok := v.Interface().(block.Type); ok {
		return newString(t.String())
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encodeValue(v.Elem())
	case reflect.Struct:
		out := newObject()
		for _, f := range fieldsOf(v.Type()) {
			if value := v.FieldByIndex(f.index); !absent(value) {
				out.set(f.name, encodeValue(value))
			}
		}
		return out
	case reflect.Slice:
		out := newArray()
		for i := range v.Len() {
			out.items = append(out.items, encodeValue(v.Index(i)))
		}
		return out
	case reflect.String:
		return newString(v.String())
	case reflect.Bool:
		return newBool(v.Bool())
	case reflect.Int64:
		return encodeInt(v.Int())
	}
	panic("spec: no way to encode a " + v.Type().String())
}

// maxJSONInt is the largest integer that every JSON reader keeps exact.
const maxJSONInt = 1 << 53

// encodeInt writes what a double would change as a string (DESIGN §12).
func encodeInt(i int64) *node {
	if i > maxJSONInt || i < -maxJSONInt {
		return newString(strconv.FormatInt(i, 10))
	}
	return newInt(i)
}

// absent tells whether a member is left out. An object without members is: {} and absence mean the same everywhere.
func absent(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// appendJSON appends the node as JSON.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nodeNull:
		return append(dst, "null"...)
	case nodeBool, nodeNumber:
		return append(dst, n.text...)
	case nodeString:
		return appendJSONString(dst, n.text)
	case nodeArray:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case nodeObject:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONString(dst, m.name), ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
	panic("spec: node of an unknown kind")
}

// appendJSONString writes a JSON string without the HTML escapes that encoding/json adds: expressions are full of <
// and >, and people read them.
func appendJSONString(dst []byte, s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string always encodes
		panic("spec: " + err.Error())
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}
