package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pondage/pondage/internal/invalid"
)

// Codes of the faults of a configuration. They are shown on start and are no answers of an API.
const (
	faultUnknownKey = "unknown_member"
	faultValue      = "invalid_value"
)

// Role is a pointer to one of the structs of roles.go.
type Role interface {
	validate(c *check)
}

// Loader reads a role from its sources. Bind comes first, then the parsing of the flags, then Load.
type Loader struct {
	role  Role
	keys  []key
	file  string
	flags map[string]string // path → text, of the flags that were given
}

// NewLoader returns a loader into role, which holds the defaults.
func NewLoader(role Role) *Loader {
	return &Loader{role: role, keys: keys(role), flags: map[string]string{}}
}

// Bind adds a flag for each key, and --config for the file.
func (l *Loader) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&l.file, "config", "", "YAML `file` with the configuration")
	for _, k := range l.keys {
		f := fs.VarPF(&flagValue{loader: l, key: k}, k.flag(), "", k.doc)
		f.DefValue = k.text()
		if k.value.Kind().String() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// flagValue records what a flag was given; it is applied by Load, after the environment and the file.
type flagValue struct {
	loader *Loader
	key    key
}

func (v *flagValue) String() string {
	if v.loader == nil { // pflag asks a zero value
		return ""
	}
	return v.key.text()
}

func (v *flagValue) Set(text string) error {
	v.loader.flags[v.key.path] = text
	return nil
}

func (v *flagValue) Type() string {
	switch v.key.value.Interface().(type) {
	case []string:
		return "list"
	case Size:
		return "size"
	case Secret:
		return "secret"
	}
	return v.key.value.Type().Name()
}

// Load fills the role and validates it. environ has the form of os.Environ. The error is an *invalid.Error with
// everything that is wrong in all sources; warnings are for the log.
func (l *Loader) Load(environ []string) (warnings []string, err error) {
	c := &check{}
	if file := l.filePath(environ); file != "" {
		l.readFile(file, c)
	}
	warnings = l.readEnv(environ, c)
	for _, k := range l.keys {
		if text, ok := l.flags[k.path]; ok {
			if err := k.set(text); err != nil {
				c.add("--"+k.flag(), "", "%v", err)
			}
		}
	}
	if c.Err() == nil { // a value that was not taken would be reported again by what depends on it
		l.role.validate(c)
	}
	return warnings, c.Err()
}

// LoadFromProcess loads with the environment of the process.
func (l *Loader) LoadFromProcess() (warnings []string, err error) { return l.Load(os.Environ()) }

// fileVariable names the file where no flag does.
const fileVariable = EnvPrefix + "CONFIG"

func (l *Loader) filePath(environ []string) string {
	if l.file != "" {
		return l.file
	}
	for _, kv := range environ {
		if path, ok := strings.CutPrefix(kv, fileVariable+"="); ok {
			return path
		}
	}
	return ""
}

// readEnv takes the variables that name a key and returns a warning for each that nearly does.
func (l *Loader) readEnv(environ []string, c *check) (warnings []string) {
	names := make([]string, len(l.keys))
	for i, k := range l.keys {
		names[i] = k.env()
	}
	for _, kv := range environ {
		name, text, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, EnvPrefix) || name == fileVariable {
			continue
		}
		if i := slices.Index(names, name); i >= 0 {
			if err := l.keys[i].set(text); err != nil {
				c.add(name, "", "%v", err)
			}
			continue
		}
		if near := invalid.Nearest(name, names); near != "" {
			warnings = append(warnings, fmt.Sprintf("variable %s is not known; did you mean %s?", name, near))
		}
	}
	return warnings
}
