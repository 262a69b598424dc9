package contract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Schema is a compiled JSON schema.
type Schema struct {
	types      []string // empty: any
	oneOf      []*Schema
	enum       []any
	pattern    *regexp.Regexp
	format     string
	minLength  *int
	maxLength  *int
	minimum    *float64
	maximum    *float64
	minItems   *int
	items      *Schema
	properties map[string]*Schema
	required   []string
	closed     bool // additionalProperties: false
}

// schemaDoc is a schema as it is written. Members that only describe, and those of code generators, are skipped; any
// other one that is not listed is refused by UnmarshalJSON.
type schemaDoc struct {
	Ref        string               `json:"$ref"`
	Type       typeList             `json:"type"`
	OneOf      []schemaDoc          `json:"oneOf"`
	Enum       []any                `json:"enum"`
	Const      any                  `json:"const"`
	Pattern    string               `json:"pattern"`
	Format     string               `json:"format"`
	MinLength  *int                 `json:"minLength"`
	MaxLength  *int                 `json:"maxLength"`
	Minimum    *float64             `json:"minimum"`
	Maximum    *float64             `json:"maximum"`
	MinItems   *int                 `json:"minItems"`
	Items      *schemaDoc           `json:"items"`
	Properties map[string]schemaDoc `json:"properties"`
	Required   []string             `json:"required"`
	Additional any                  `json:"additionalProperties"`
}

var describing = map[string]bool{"title": true, "description": true, "examples": true, "default": true}

var checking = map[string]bool{
	"$ref": true, "type": true, "oneOf": true, "enum": true, "const": true, "pattern": true, "format": true, "minLength": true, "maxLength": true, "minimum": true,
	"maximum": true, "minItems": true, "items": true, "properties": true, "required": true, "additionalProperties": true,
}

// UnmarshalJSON reads a schema and refuses keywords that would go unchecked.
func (d *schemaDoc) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for name := range members {
		if !checking[name] && !describing[name] && !strings.HasPrefix(name, "x-") {
			return fmt.Errorf("schema keyword %q is not checked by package contract", name)
		}
	}
	type plain schemaDoc
	return json.Unmarshal(b, (*plain)(d))
}

// typeList is one type or a list of them.
type typeList []string

func (t *typeList) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil {
		*t = typeList{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// schema compiles a schema.
func (p *parser) schema(d schemaDoc) (*Schema, error) {
	if d.Ref != "" {
		return p.reference(d.Ref)
	}
	s := &Schema{}
	return s, p.fill(s, d)
}

func (p *parser) reference(ref string) (*Schema, error) {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	d, known := p.doc.Components.Schemas[name]
	if !ok || !known {
		return nil, fmt.Errorf("reference %s leads nowhere", ref)
	}
	if s, ok := p.schemas[name]; ok {
		return s, nil
	}
	if d.Ref != "" {
		return p.reference(d.Ref)
	}
	s := &Schema{}
	p.schemas[name] = s
	if err := p.fill(s, d); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return s, nil
}

func (p *parser) fill(s *Schema, d schemaDoc) (err error) {
	s.types, s.enum, s.format, s.required = d.Type, d.Enum, d.Format, d.Required
	s.minLength, s.maxLength, s.minimum, s.maximum, s.minItems = d.MinLength, d.MaxLength, d.Minimum, d.Maximum, d.MinItems
	s.closed = d.Additional == false
	if d.Const != nil {
		s.enum = []any{d.Const}
	}
	if d.Pattern != "" {
		if s.pattern, err = regexp.Compile(d.Pattern); err != nil {
			return err
		}
	}
	if d.Items != nil {
		if s.items, err = p.schema(*d.Items); err != nil {
			return err
		}
	}
	for _, alternative := range d.OneOf {
		a, err := p.schema(alternative)
		if err != nil {
			return err
		}
		s.oneOf = append(s.oneOf, a)
	}
	s.properties = make(map[string]*Schema, len(d.Properties))
	for name, property := range d.Properties {
		if s.properties[name], err = p.schema(property); err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
	}
	return nil
}

// Numeric tells whether values are numbers: a parameter's text is then read as one.
func (s *Schema) Numeric() bool {
	return len(s.types) == 1 && (s.types[0] == "integer" || s.types[0] == "number")
}
