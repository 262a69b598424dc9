package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// EnvPrefix starts the names of all variables.
const EnvPrefix = "PONDAGE_"

// key is one value of a role.
type key struct {
	path  string // kafka.tls.ca_file
	doc   string // from the doc comment
	value reflect.Value
}

// flag is the key's name as a flag, without the dashes.
func (k key) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.path) }

// env is the key's name as a variable.
func (k key) env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// keys lists the keys of a role, a pointer to one of the structs of roles.go, in their order there.
func keys(role any) []key {
	return appendKeys(nil, "", reflect.ValueOf(role).Elem())
}

func appendKeys(out []key, prefix string, v reflect.Value) []key {
	t := v.Type()
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("key"), ",")
		path := prefix + name
		switch {
		case option == "inline":
			out = appendKeys(out, prefix, v.Field(i))
		case isGroup(t.Field(i).Type):
			out = appendKeys(out, path+".", v.Field(i))
		default:
			out = append(out, key{path: path, doc: fieldDocs[t.Name()+"."+t.Field(i).Name], value: v.Field(i)})
		}
	}
	return out
}

// isGroup tells whether a field holds further keys.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Secret]()
}

// set gives the key a value in its text form; lists are separated by commas.
func (k key) set(text string) error {
	switch p := k.value.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *[]string:
		*p = splitList(text)
		return nil
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*p = d
		return wanted(err, text, "a duration such as 5s or 1m30s")
	case *bool:
		b, err := strconv.ParseBool(text)
		*p = b
		return wanted(err, text, "true or false")
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return wanted(err, text, "a whole number")
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		*p = f
		return wanted(err, text, "a number")
	}
	if k.value.Kind() != reflect.String {
		panic("config: key " + k.path + " has a type without a text form")
	}
	k.value.SetString(text)
	return nil
}

func wanted(err error, text, want string) error {
	if err != nil {
		return fmt.Errorf("%q: want %s", text, want)
	}
	return nil
}

func splitList(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// text is the inverse of set, for printing: a password inside a URL is left out.
func (k key) text() string {
	switch v := k.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case fmt.Stringer:
		return v.String()
	case string:
		return withoutPassword(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(k.value.Interface())
}
