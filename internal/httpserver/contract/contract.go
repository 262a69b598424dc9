package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Contract is a compiled document.
type Contract struct {
	operations map[string]*Operation // by "METHOD /path/{template}"
}

// Operation is what the document says about one operation.
type Operation struct {
	ID, Method, Path string
	Role             string        // x-pondage-role
	MaxBody          int64         // bytes; x-pondage-max-body
	MaxTime          time.Duration // 0: no deadline; x-pondage-max-seconds
	BodyCheck        BodyCheck     // x-pondage-body
	Body             *Body         // nil: the operation has none
	Params           []Param
	Responses        map[string]Response // by status, or "default"
}

// BodyCheck says how far the body is looked at before the handler.
type BodyCheck string

// The ways. Whole is the default.
const (
	BodyWhole  BodyCheck = "whole"  // against the schema
	BodySyntax BodyCheck = "syntax" // JSON or not; the application knows the rest better
	BodyStream BodyCheck = "stream" // not read
)

// Body is what an operation takes.
type Body struct {
	Required bool
	Types    []string // media types, in the order of the document
	schemas  map[string]*Schema
}

// Schema returns the schema of a media type.
func (b *Body) Schema(mediaType string) *Schema { return b.schemas[mediaType] }

// Param is a parameter.
type Param struct {
	Name, In string // In: path, query or header
	Required bool
	Schema   *Schema
}

// Response is one kind of answer.
type Response struct {
	Types   map[string]*Schema // by media type; empty: no body
	Headers []string           // those that must be there
}

// The limits where a document gives none.
const (
	DefaultMaxBody = 1 << 20
	DefaultMaxTime = 30 * time.Second
)

// Operation returns the operation of a method and a path template.
func (c *Contract) Operation(method, path string) (*Operation, bool) {
	op, ok := c.operations[method+" "+path]
	return op, ok
}

// Operations lists all operations, by path and method.
func (c *Contract) Operations() []*Operation {
	out := make([]*Operation, 0, len(c.operations))
	for _, op := range c.operations {
		out = append(out, op)
	}
	slices.SortFunc(out, func(a, b *Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return out
}

// Parse compiles a self-contained document.
func Parse(doc []byte) (*Contract, error) {
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, fmt.Errorf("openapi document: %w", err)
	}
	p := parser{doc: &d, schemas: map[string]*Schema{}}
	c := &Contract{operations: map[string]*Operation{}}
	for path, item := range d.Paths {
		for method, op := range item {
			compiled, err := p.operation(strings.ToUpper(method), path, op)
			if err != nil {
				return nil, fmt.Errorf("openapi document: %s %s: %w", method, path, err)
			}
			c.operations[compiled.Method+" "+path] = compiled
		}
	}
	return c, nil
}

// document is the part of an OpenAPI document that is read.
type document struct {
	Paths      map[string]map[string]operationDoc `json:"paths"`
	Components struct {
		Schemas    map[string]schemaDoc   `json:"schemas"`
		Parameters map[string]paramDoc    `json:"parameters"`
		Responses  map[string]responseDoc `json:"responses"`
	} `json:"components"`
}

type operationDoc struct {
	OperationID string                 `json:"operationId"`
	Parameters  []paramDoc             `json:"parameters"`
	RequestBody *bodyDoc               `json:"requestBody"`
	Responses   map[string]responseDoc `json:"responses"`
	Role        string                 `json:"x-pondage-role"`
	MaxBody     int64                  `json:"x-pondage-max-body"`
	MaxSeconds  *int                   `json:"x-pondage-max-seconds"`
	BodyCheck   BodyCheck              `json:"x-pondage-body"`
}

type paramDoc struct {
	Ref      string    `json:"$ref"`
	Name     string    `json:"name"`
	In       string    `json:"in"`
	Required bool      `json:"required"`
	Schema   schemaDoc `json:"schema"`
}

type bodyDoc struct {
	Required bool       `json:"required"`
	Content  contentDoc `json:"content"`
}

type contentDoc map[string]struct {
	Schema schemaDoc `json:"schema"`
}

type responseDoc struct {
	Ref     string     `json:"$ref"`
	Content contentDoc `json:"content"`
	Headers map[string]struct {
		Required bool `json:"required"`
	} `json:"headers"`
}

type parser struct {
	doc     *document
	schemas map[string]*Schema // compiled components, also while they compile: schemas may be recursive
}

func (p *parser) operation(method, path string, d operationDoc) (*Operation, error) {
	op := &Operation{ID: d.OperationID, Method: method, Path: path, Role: d.Role, MaxBody: DefaultMaxBody, MaxTime: DefaultMaxTime, BodyCheck: BodyWhole, Responses: map[string]Response{}}
	if d.MaxBody > 0 {
		op.MaxBody = d.MaxBody
	}
	if d.MaxSeconds != nil {
		op.MaxTime = time.Duration(*d.MaxSeconds) * time.Second
	}
	if d.BodyCheck != "" {
		op.BodyCheck = d.BodyCheck
	}
	if err := p.params(op, d.Parameters); err != nil {
		return nil, err
	}
	if err := p.body(op, d.RequestBody); err != nil {
		return nil, err
	}
	return op, p.responses(op, d.Responses)
}

func (p *parser) params(op *Operation, docs []paramDoc) error {
	for _, d := range docs {
		if name, ok := strings.CutPrefix(d.Ref, "#/components/parameters/"); ok {
			d = p.doc.Components.Parameters[name]
		}
		s, err := p.schema(d.Schema)
		if err != nil {
			return fmt.Errorf("parameter %s: %w", d.Name, err)
		}
		op.Params = append(op.Params, Param{Name: d.Name, In: d.In, Required: d.Required, Schema: s})
	}
	return nil
}

func (p *parser) body(op *Operation, d *bodyDoc) error {
	if d == nil {
		return nil
	}
	schemas, err := p.content(d.Content)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	op.Body = &Body{Required: d.Required, schemas: schemas}
	for mediaType := range schemas {
		op.Body.Types = append(op.Body.Types, mediaType)
	}
	slices.Sort(op.Body.Types)
	return nil
}

func (p *parser) responses(op *Operation, docs map[string]responseDoc) error {
	for status, d := range docs {
		if name, ok := strings.CutPrefix(d.Ref, "#/components/responses/"); ok {
			d = p.doc.Components.Responses[name]
		}
		types, err := p.content(d.Content)
		if err != nil {
			return fmt.Errorf("response %s: %w", status, err)
		}
		r := Response{Types: types}
		for name, h := range d.Headers {
			if h.Required {
				r.Headers = append(r.Headers, http.CanonicalHeaderKey(name))
			}
		}
		op.Responses[status] = r
	}
	return nil
}

func (p *parser) content(d contentDoc) (map[string]*Schema, error) {
	out := map[string]*Schema{}
	for mediaType, c := range d {
		s, err := p.schema(c.Schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", mediaType, err)
		}
		out[mediaType] = s
	}
	return out, nil
}
