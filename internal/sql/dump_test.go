package sql

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
)

// dump writes a tree with one member a line. Spans and members that are not set are left out.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), "")
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, indent string) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if e, ok := v.Interface().(Expr); ok {
			fmt.Fprintf(b, " %s\n", Format(e))
			return
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case block.Type, Duration, Unit, ObjectKind, TriggerMode:
		fmt.Fprintf(b, " %v\n", x)
		return
	case Name:
		fmt.Fprintf(b, " %q\n", x.Text)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		fmt.Fprintf(b, " %s\n", v.Type().Name())
		for i := range v.NumField() {
			if f := v.Field(i); f.Type() != reflect.TypeFor[invalid.Span]() && !f.IsZero() {
				fmt.Fprintf(b, "%s  %s:", indent, v.Type().Field(i).Name)
				dumpValue(b, f, indent+"  ")
			}
		}
	case reflect.Slice:
		b.WriteByte('\n')
		for i := range v.Len() {
			fmt.Fprintf(b, "%s  -", indent)
			dumpValue(b, v.Index(i), indent+"  ")
		}
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}
