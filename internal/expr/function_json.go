package expr

import (
	"bytes"
	"encoding/json"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/sql"
)

func jsonFunctions() []function {
	return []function{
		{Function: Function{Signature: "json_get(json, path) → json", Doc: "the value at a path such as '$.a.b[0]', null where there is none or it is null"}, least: 2, most: 2, check: checkJSONGet(block.JSON, appendJSON)},
		{Function: Function{Signature: "json_text(json, path) → string", Doc: "the same as a string: strings without quotes, other values as JSON"}, least: 2, most: 2, check: checkJSONGet(block.String, appendJSONText)},
	}
}

// checkJSONGet types json_get and json_text. A string argument is read as JSON too.
func checkJSONGet(result block.Type, write func(dst, value []byte) []byte) func(*checker, *sql.Call, []*node) *node {
	return func(c *checker, e *sql.Call, args []*node) *node {
		path, ok := c.constantText(e, args[1], "the path")
		if !ok {
			return nil
		}
		steps, err := parseJSONPath(path)
		if err != nil {
			return c.fail(args[1].src, CodeBadLiteral, "write it as '$.a.b[0]'", "%s", err)
		}
		doc := args[0]
		if doc.typ.Kind == block.KindString || doc.isNull() {
			doc = c.castTo(doc.src, doc, block.JSON)
		}
		if doc.typ.Kind != block.KindJSON {
			return c.fail(args[0].src, CodeTypeClash, registry[e.Name].Signature, "%s needs json, not %s", e.Name, typeName(args[0]))
		}
		return strict(e, result, jsonLoop(steps, write), doc)
	}
}

// jsonLoop appends what write makes of the value at the path; a missing value and the JSON null are null.
func jsonLoop(steps decode.Path, write func(dst, value []byte) []byte) loop {
	return func(c *call) {
		for _, i := range c.sel {
			value := jsonAt(c.args[0].bytes(i), steps)
			if len(value) == 0 || string(value) == "null" {
				c.null(i)
				continue
			}
			c.out.open(i)
			c.out.col.Data = write(c.out.col.Data, value)
			c.out.shut(i)
		}
	}
}

func appendJSON(dst, value []byte) []byte { return append(dst, value...) }

func appendJSONText(dst, value []byte) []byte {
	if value[0] != '"' {
		return append(dst, value...)
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return append(dst, value[1:len(value)-1]...)
	}
	var text string
	if json.Unmarshal(value, &text) != nil { // escapes are rare; only they cost a copy
		return append(dst, value...)
	}
	return append(dst, text...)
}
