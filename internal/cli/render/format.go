package render

import (
	"fmt"
	"slices"
	"strings"
)

// Format is the form of a command's output.
type Format string

// The formats. Every command has the first three; commands that answer rows have the others too.
const (
	Table  Format = "table"
	JSON   Format = "json"
	YAML   Format = "yaml"
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// Common are the formats of every command.
var Common = []Format{Table, JSON, YAML}

// Parse reads the name of one of the formats.
func Parse(name string, formats []Format) (Format, error) {
	f := Format(name)
	if slices.Contains(formats, f) {
		return f, nil
	}
	return "", fmt.Errorf("output %q: want %s", name, List(formats))
}

// List names the formats: "table, json or yaml".
func List(formats []Format) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
