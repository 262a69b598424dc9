package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Print lists the keys of a role with their values, one a line, in the form of variables' names: what a process runs
// with. Secrets are references, a password inside a URL is left out.
func Print(role Role) string {
	var b strings.Builder
	for _, k := range keys(role) {
		fmt.Fprintf(&b, "%s: %s\n", k.path, k.text())
	}
	return b.String()
}

// withoutPassword returns the text with the password of a URL replaced.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	return u.Redacted()
}
