package openapi_test

import (
	"bytes"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pondage/pondage/openapi"
)

func TestEveryDocumentStandsAloneAndIsValid(t *testing.T) {
	t.Parallel()
	for _, s := range []openapi.Service{openapi.Coordinator, openapi.Worker, openapi.Snapshotter} {
		text, err := openapi.Document(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if bytes.Contains(text, []byte("common.yaml")) {
			t.Errorf("%s: a reference leads out of the document", s)
		}
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestEveryOperationSaysWhoMayCallIt(t *testing.T) {
	t.Parallel()
	roles := map[string]bool{"none": true, "viewer": true, "editor": true, "admin": true, "cluster": true}
	for _, s := range []openapi.Service{openapi.Coordinator, openapi.Worker, openapi.Snapshotter} {
		text, err := openapi.Document(s)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatal(err)
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				role, _ := op.Extensions["x-pondage-role"].(string)
				if !roles[role] {
					t.Errorf("%s: %s %s: x-pondage-role is %q", s, method, path, role)
				}
			}
		}
	}
}
