package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/pondage/pondage/internal/invalid"
)

// parseYAML reads the documents of a YAML text, leaving empty ones out.
func parseYAML(text []byte) ([]*node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var roots []*node
	p := &yamlParser{}
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, p.faults.Err()
		}
		if err != nil {
			return nil, invalid.New(CodeMalformed, "", "not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if root := p.value("", &doc, 0); root != nil && root.kind != nodeNull {
			roots = append(roots, root)
		}
	}
}

type yamlParser struct{ faults invalid.Collector }

func (p *yamlParser) fault(code, pointer string, n *yaml.Node, format string, args ...any) {
	p.faults.Add(invalid.Detail{Code: code, Pointer: pointer, Span: &invalid.Span{Line: n.Line, Column: n.Column}, Message: fmt.Sprintf(format, args...)})
}

// value converts a YAML node. Aliases are refused: a spec is read where it stands, and a few of them can unfold into
// a document without end.
func (p *yamlParser) value(pointer string, n *yaml.Node, depth int) *node {
	if depth > maxDepth {
		p.fault(CodeMalformed, pointer, n, "nested deeper than %d levels", maxDepth)
		return nil
	}
	at := invalid.Span{Line: n.Line, Column: n.Column}
	switch n.Kind {
	case yaml.DocumentNode:
		return p.value(pointer, n.Content[0], depth)
	case yaml.SequenceNode:
		out := newArray().located(at)
		for i, item := range n.Content {
			if v := p.value(fmt.Sprintf("%s/%d", pointer, i), item, depth+1); v != nil {
				out.items = append(out.items, v)
			}
		}
		return out
	case yaml.MappingNode:
		return p.mapping(pointer, n, depth).located(at)
	case yaml.ScalarNode:
		return p.scalar(pointer, n).located(at)
	}
	p.fault(CodeMalformed, pointer, n, "aliases are not taken: write the value out")
	return nil
}

func (p *yamlParser) mapping(pointer string, n *yaml.Node, depth int) *node {
	out, seen := newObject(), map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := pointer + "/" + escapePointer(key.Value)
		if key.Kind != yaml.ScalarNode {
			p.fault(CodeMalformed, pointer, key, "a member's name is a plain word")
			continue
		}
		if seen[key.Value] {
			p.fault(CodeDuplicateMember, below, key, "%q occurs twice", key.Value)
			continue
		}
		seen[key.Value] = true
		if v := p.value(below, value, depth+1); v != nil {
			out.set(key.Value, v)
		}
	}
	return out
}

func (p *yamlParser) scalar(pointer string, n *yaml.Node) *node {
	switch n.ShortTag() {
	case "!!null":
		return &node{kind: nodeNull}
	case "!!bool":
		return newBool(strings.EqualFold(n.Value, "true"))
	case "!!int", "!!float":
		return newNumber(n.Value)
	case "!!str", "!!timestamp":
		return newString(n.Value)
	}
	p.fault(CodeMalformed, pointer, n, "the tag %s is not taken", n.ShortTag())
	return &node{kind: nodeNull}
}
