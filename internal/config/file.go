package config

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/pondage/pondage/internal/invalid"
)

// readFile applies a YAML file. Unknown keys are refused with the nearest known one.
func (l *Loader) readFile(path string, c *check) {
	text, err := os.ReadFile(path)
	if err != nil {
		c.add("", "check --config and "+fileVariable, "configuration file: %v", err)
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		c.add("", "", "configuration file %s: %v", path, err)
		return
	}
	if len(doc.Content) > 0 {
		l.readMap(doc.Content[0], "", c)
	}
}

func (l *Loader) readMap(n *yaml.Node, prefix string, c *check) {
	if n.Kind != yaml.MappingNode {
		c.add(strings.TrimSuffix(prefix, "."), "", "line %d: want a map of keys", n.Line)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		l.readEntry(n.Content[i], n.Content[i+1], prefix+n.Content[i].Value, c)
	}
}

func (l *Loader) readEntry(name, value *yaml.Node, path string, c *check) {
	if i := slices.IndexFunc(l.keys, func(k key) bool { return k.path == path }); i >= 0 {
		if err := l.keys[i].setYAML(value); err != nil {
			c.add(path, "", "line %d: %v", value.Line, err)
		}
		return
	}
	if slices.ContainsFunc(l.keys, func(k key) bool { return strings.HasPrefix(k.path, path+".") }) {
		l.readMap(value, path+".", c)
		return
	}
	hint := ""
	if near := l.nearest(path); near != "" {
		hint = "did you mean " + near + "?"
	}
	c.Add(invalid.Detail{Code: faultUnknownKey, Pointer: pointer(path), Hint: hint, Message: "unknown key " + path + " in line " + strconv.Itoa(name.Line)})
}

// nearest returns the key that was probably meant, or the group of keys.
func (l *Loader) nearest(path string) string {
	var paths, groups []string
	for _, k := range l.keys {
		paths = append(paths, k.path)
		for i, r := range k.path {
			if r == '.' {
				groups = append(groups, k.path[:i])
			}
		}
	}
	return cmp.Or(invalid.Nearest(path, paths), invalid.Nearest(path, groups))
}

var (
	errWantScalar    = errors.New("want one value")
	errWantReference = errors.New("want {from: env|file, name: …}")
)

// setYAML gives the key a value of a file: a scalar, a list of scalars, or {from, name} for a secret.
func (k key) setYAML(n *yaml.Node) error {
	switch k.value.Interface().(type) {
	case []string:
		if n.Kind == yaml.SequenceNode {
			var list []string
			err := n.Decode(&list)
			k.value.Set(reflect.ValueOf(list))
			return err
		}
	case Secret:
		if n.Kind == yaml.MappingNode {
			return k.setReference(n)
		}
	}
	if n.Kind != yaml.ScalarNode {
		return errWantScalar
	}
	if n.Tag == "!!null" {
		return k.set("")
	}
	return k.set(n.Value)
}

func (k key) setReference(n *yaml.Node) error {
	var ref map[string]string
	if err := n.Decode(&ref); err != nil {
		return err
	}
	if len(ref) != 2 || ref["from"] == "" || ref["name"] == "" {
		return errWantReference
	}
	return k.set(ref["from"] + ":" + ref["name"])
}
