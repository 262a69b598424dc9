package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"
)

// Value writes one JSON value in the form of JSON or YAML.
func Value(w io.Writer, f Format, raw []byte) error {
	if f == YAML {
		return writeYAML(w, raw)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	line.WriteByte('\n')
	_, err := w.Write(line.Bytes())
	return err
}

// yamlIndent is the indentation of nested members, as in the examples.
const yamlIndent = 2

func writeYAML(w io.Writer, raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	node, err := yamlNode(d)
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(yamlIndent)
	if err := e.Encode(node); err != nil {
		return err
	}
	return e.Close()
}

// yamlNode makes a node of the next JSON value. YAML's own reader of JSON does not know surrogate pairs.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return yamlGroup(d, t)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	default:
		n := &yaml.Node{}
		return n, n.Encode(t)
	}
}

// yamlGroup reads an object or array behind its first bracket.
func yamlGroup(d *json.Decoder, open json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if open == '[' {
		n.Kind = yaml.SequenceNode
	}
	for d.More() {
		item, err := yamlNode(d) // the names of members are tokens like values
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle // {} and []
	}
	_, err := d.Token()
	return n, err
}
