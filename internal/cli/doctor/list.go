package doctor

import (
	"slices"
	"strings"
)

// addNew appends an item that is not there yet.
func addNew(items []string, item string) []string {
	if slices.Contains(items, item) {
		return items
	}
	return append(items, item)
}

// list names items; of many the first ones.
func list(items []string) string {
	const shown = 5
	if len(items) <= shown {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:shown], ", ") + ", …"
}
