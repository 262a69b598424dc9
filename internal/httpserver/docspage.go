package httpserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed docs.tmpl.html
var docsTemplate string

// pageDoc is what the page shows of a document.
type pageDoc struct {
	Info struct{ Title, Summary, Description, Version string }
	Tags []struct {
		Name, Description string
		Operations        []pageOperation
	}
	Schemas []pageSchema
}

type pageOperation struct {
	Method, Path, Summary, Description, Role string
	Parameters                               []pageParam
	Body                                     template.HTML
	Responses                                []pageResponse
}

type pageParam struct{ Name, In, Description string }

type pageResponse struct {
	Status, Description string
	Body                template.HTML
}

type pageSchema struct{ Name, Text string }

// renderDocs makes the page /docs of a document, in one file that needs nothing else.
func renderDocs(text []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var page pageDoc
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, err
	}
	for _, path := range keysOf(doc["paths"]) {
		item := member(doc["paths"], path)
		for _, method := range keysOf(item) {
			page.add(operationOf(doc, method, path, member(item, method)))
		}
	}
	schemas := member(member(doc, "components"), "schemas")
	for _, name := range keysOf(schemas) {
		b, err := json.MarshalIndent(member(schemas, name), "", "  ")
		if err != nil {
			return nil, err
		}
		page.Schemas = append(page.Schemas, pageSchema{name, string(b)})
	}
	t, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, page)
	return out.Bytes(), err
}

// add puts an operation under its tag.
func (p *pageDoc) add(tag string, op pageOperation) {
	for i := range p.Tags {
		if p.Tags[i].Name == tag {
			p.Tags[i].Operations = append(p.Tags[i].Operations, op)
		}
	}
}

func operationOf(doc any, method, path string, op any) (string, pageOperation) {
	out := pageOperation{
		Method: strings.ToUpper(method), Path: path, Summary: textOf(op, "summary"), Description: textOf(op, "description"),
		Role: textOf(op, "x-pondage-role"), Body: schemaLinks(member(member(op, "requestBody"), "content")),
	}
	params, _ := member(op, "parameters").([]any)
	for _, p := range params {
		p = resolve(doc, p)
		out.Parameters = append(out.Parameters, pageParam{textOf(p, "name"), textOf(p, "in"), textOf(p, "description")})
	}
	responses := member(op, "responses")
	for _, status := range keysOf(responses) {
		r := resolve(doc, member(responses, status))
		out.Responses = append(out.Responses, pageResponse{status, textOf(r, "description"), schemaLinks(member(r, "content"))})
	}
	tags, _ := member(op, "tags").([]any)
	if len(tags) == 0 {
		return "", out
	}
	return fmt.Sprint(tags[0]), out
}

// schemaLinks names the media types with a link to the schema of each. Names are the documents' own, yet escaped.
func schemaLinks(content any) template.HTML {
	var out []string
	for _, mediaType := range keysOf(content) {
		ref := textOf(member(member(content, mediaType), "schema"), "$ref")
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		line := template.HTMLEscapeString(mediaType)
		if name != "" {
			name = template.HTMLEscapeString(name)
			line += ` <a href="#schema-` + name + `">` + name + `</a>`
		}
		out = append(out, line)
	}
	return template.HTML(strings.Join(out, ", ")) //nolint:gosec // escaped above
}

// resolve follows a local reference.
func resolve(doc, v any) any {
	path, ok := strings.CutPrefix(textOf(v, "$ref"), "#/")
	if !ok {
		return v
	}
	v = doc
	for name := range strings.SplitSeq(path, "/") {
		v = member(v, name)
	}
	return v
}

func member(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func textOf(v any, name string) string {
	s, _ := member(v, name).(string)
	return s
}

func keysOf(v any) []string {
	m, _ := v.(map[string]any)
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
