package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pageHead explains what all commands share.
const pageHead = `<!-- Generated from the commands of internal/cli; do not edit. -->
# Commands

` + "`bin/pondage`" + ` is one binary: roles, commands that talk to a coordinator, tools. ` + "`pondage COMMAND -h`" + ` shows what stands here.

- **Output**: ` + "`-o table|json|yaml`" + ` on every command. JSON is one line a value: a list is ` + "`{\"items\":[…]}`" + `, a sequence of values is NDJSON.
  64-bit integers are strings. Tables are cut to the width of a terminal; into a file or pipe they are not.
- **Errors** go to standard error; with ` + "`-o json`" + ` each is a problem document (RFC 9457) on a line, with the code of
  [errors.md](errors.md), or one of ` + "`wrong_usage`, `command_failed`, `api_unreachable`, `cannot_connect`, `interrupted`" + `, which only the command line has.
- **Exit status**: 0 done, 1 failed, 2 wrong usage.
- **Coordinator**: ` + "`--api URL`, `PONDAGE_API`" + `, else ` + "`http://127.0.0.1:7420`" + `. **Token**: ` + "`--token env:NAME` or `file:PATH`" + `, or the same in
  ` + "`PONDAGE_TOKEN`" + `. All keys of roles are flags too: [config.md](config.md).
`

// Page writes docs/cli.md.
func Page(w io.Writer, extra ...*cobra.Command) error {
	var b strings.Builder
	b.WriteString(pageHead)
	root := New(Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, extra...)
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == group.ID && c.IsAvailableCommand() && c.Name() != "help" {
				pageCommand(&b, c)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pageCommand writes a command and those below it.
func pageCommand(b *strings.Builder, c *cobra.Command) {
	if c.Annotations[groupAnnotation] == "" {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), description(c), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
		}
		pageFlags(b, c)
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			pageCommand(b, below)
		}
	}
}

func description(c *cobra.Command) string {
	if c.Long == "" {
		return c.Short + "."
	}
	return c.Long
}

func unindent(example string) string {
	lines := strings.Split(example, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// pageFlags writes the flags of a command that are no keys of a configuration: those are in docs/config.md.
func pageFlags(b *strings.Builder, c *cobra.Command) {
	var rows []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if _, isKey := f.Annotations[keyAnnotation]; isKey || f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "false" {
			value = "`" + f.DefValue + "`"
		}
		_, usage := pflag.UnquoteUsage(f)
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", name, value, strings.ReplaceAll(usage, "|", `\|`)))
	})
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| flag | default | what it is |\n|---|---|---|\n%s", strings.Join(rows, ""))
	}
}
