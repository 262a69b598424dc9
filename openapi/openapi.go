// Package openapi holds the API documents (DESIGN §12). They are the source: servers, clients and models under
// internal/api are generated from them, request and response validators read them.
//
// It owns: the documents, and Document, which makes one self-contained JSON document of a service's and the shared one.
// It does not own: what the operations do.
//
// Beside plain OpenAPI 3.1, operations carry members of ours: x-pondage-role (none, viewer, editor, admin, cluster: who
// may call), x-pondage-max-body (bytes; the default is httpserver's), x-pondage-max-seconds (0: no deadline),
// x-pondage-body (whole, the default: checked against the schema; syntax: only whether it is JSON; stream: not read).
package openapi

//go:generate oapi-codegen -config common.codegen.yaml common.yaml
//go:generate oapi-codegen -config coordinator.codegen.yaml coordinator.yaml
//go:generate oapi-codegen -config worker.codegen.yaml worker.yaml
//go:generate oapi-codegen -config snapshotter.codegen.yaml snapshotter.yaml

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed common.yaml coordinator.yaml worker.yaml snapshotter.yaml
var files embed.FS

// Service names a document.
type Service string

// The services with a document.
const (
	Coordinator Service = "coordinator"
	Worker      Service = "worker"
	Snapshotter Service = "snapshotter"
)

// sharedFile is the document whose components the others refer to.
const sharedFile = "common.yaml"

// Document returns the service's document as JSON in which every reference is local: the components of the shared
// document that it uses stand among its own. An error means that the embedded documents are broken.
func Document(s Service) ([]byte, error) {
	own, err := read(string(s) + ".yaml")
	if err != nil {
		return nil, err
	}
	shared, err := read(sharedFile)
	if err != nil {
		return nil, err
	}
	b := bundler{own: components(own), shared: components(shared)}
	b.inheritWhole()
	if err := b.localize(own); err != nil {
		return nil, fmt.Errorf("openapi document of the %s: %w", s, err)
	}
	return json.Marshal(own)
}

func read(name string) (map[string]any, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("openapi document %s: %w", name, err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("openapi document %s: %w", name, err)
	}
	return doc, nil
}

func components(doc map[string]any) map[string]any {
	c, _ := doc["components"].(map[string]any)
	return c
}

// bundler copies shared components into the own ones as it meets references to them.
type bundler struct{ own, shared map[string]any }

// inheritWhole replaces own components that are nothing but a reference to the shared one of their name: made local,
// such a reference would point at itself.
func (b *bundler) inheritWhole() {
	for kind, group := range b.own {
		own, _ := group.(map[string]any)
		shared, _ := b.shared[kind].(map[string]any)
		for name, entry := range own {
			if e, _ := entry.(map[string]any); e["$ref"] == "./"+sharedFile+"#/components/"+kind+"/"+name {
				own[name] = shared[name]
			}
		}
	}
}

// localize rewrites all references below v, in place.
func (b *bundler) localize(v any) error {
	switch v := v.(type) {
	case map[string]any:
		return b.localizeObject(v)
	case []any:
		for _, item := range v {
			if err := b.localize(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bundler) localizeObject(v map[string]any) error {
	if ref, ok := v["$ref"].(string); ok {
		local, err := b.adopt(ref)
		if err != nil {
			return err
		}
		v["$ref"] = local
	}
	for key, item := range v {
		if key == "$ref" {
			continue
		}
		if err := b.localize(item); err != nil {
			return err
		}
	}
	return nil
}

// adopt returns the local form of a reference and makes sure that its target is among the own components.
func (b *bundler) adopt(ref string) (string, error) {
	path, ok := strings.CutPrefix(ref, "./"+sharedFile)
	if !ok {
		path = ref
	}
	kind, name, found := strings.Cut(strings.TrimPrefix(path, "#/components/"), "/")
	if !found {
		return "", fmt.Errorf("reference %s: want #/components/<kind>/<name>", ref)
	}
	own, _ := b.own[kind].(map[string]any)
	if _, ok := own[name]; ok {
		return path, nil
	}
	shared, _ := b.shared[kind].(map[string]any)
	target, ok := shared[name]
	if !ok {
		return "", fmt.Errorf("reference %s: no such component", ref)
	}
	if own == nil {
		own = map[string]any{}
		b.own[kind] = own
	}
	own[name] = target
	return path, b.localize(target)
}
