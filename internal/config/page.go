package config

import (
	"fmt"
	"strings"
)

// pageHead explains the sources.
const pageHead = `<!-- Generated from the doc comments of internal/config; do not edit. -->
# Configuration

A key is the same word in the file (` + "`--config FILE`" + `, YAML, nested), in the environment (` + "`PONDAGE_`" + ` and the key in upper case,
dots as underscores) and as a flag (dots and underscores as dashes). A flag wins over the environment, the environment over
the file, the file over the default. An unknown key in a file is refused. Secrets are references: ` + "`{from: env, name: VARIABLE}`" + ` or
` + "`{from: file, name: PATH}`" + `, as a flag or variable ` + "`env:VARIABLE`" + ` or ` + "`file:PATH`" + `.
`

// machineDependent are keys whose default the page cannot name.
var machineDependent = map[string]string{
	"postgres.max_connections": "the number of processors, at least 4",
	"memory":                   "a quarter of the machine's memory",
}

// Page returns docs/config.md.
func Page() string {
	coordinator, worker, snapshotter, node, broker, dev := DefaultCoordinator(), DefaultWorker(), DefaultSnapshotter(), DefaultNode(), DefaultBroker(), DefaultDev()
	client, doctor, topics := DefaultClient(), DefaultDoctor(), DefaultTopics()
	var b strings.Builder
	b.WriteString(pageHead)
	for _, r := range []struct {
		name string
		role Role
	}{{"coordinator", &coordinator}, {"worker", &worker}, {"snapshotter", &snapshotter}, {"node", &node}, {"broker", &broker}, {"dev", &dev}, {"doctor", &doctor}, {"topic", &topics}, {"… (every other command)", &client}} {
		fmt.Fprintf(&b, "\n## pondage %s\n\n| key | default | what it is |\n|---|---|---|\n", r.name)
		for _, k := range keys(r.role) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.path, k.pageDefault(r.name), strings.ReplaceAll(k.doc, "|", `\|`))
		}
	}
	return b.String()
}

func (k key) pageDefault(role string) string {
	fixed := k.path == "memory" && role == "dev"
	if text, ok := machineDependent[k.path]; ok && !fixed {
		return text
	}
	if text := k.text(); text != "" {
		return "`" + text + "`"
	}
	return ""
}
