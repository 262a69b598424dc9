package spec

import (
	"reflect"
	"strings"
)

// field is a member of an object as the struct's tag declares it.
type field struct {
	name      string
	index     []int
	required  bool
	takesNull bool
}

// fields are the members of an object in the order of the struct.
type fields []field

func fieldsOf(t reflect.Type) fields {
	var out fields
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("spec")
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		out = append(out, field{name: name, index: f.Index, required: options == "required", takesNull: f.Type == reflect.TypeFor[Limit]()})
	}
	return out
}

func (f fields) find(name string) (field, bool) {
	for _, one := range f {
		if one.name == name {
			return one, true
		}
	}
	return field{}, false
}

func (f fields) names() []string {
	out := make([]string, len(f))
	for i := range f {
		out[i] = f[i].name
	}
	return out
}
