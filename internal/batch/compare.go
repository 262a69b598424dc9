package batch

import (
	"fmt"
	"maps"
	"slices"
)

// Output is what a stream has left somewhere.
type Output struct {
	Name string // postgres, kafka, http
	Rows *Rows
}

// Comparison counts the rows of an answer against all outputs.
type Comparison struct {
	// Equal is how many rows of the answer every output has, and has equal.
	Equal int
	// Different is how many keys are missing, extra, doubled or changed in any output; a key counts once.
	Different int
	// First are a few of the differences, in words.
	First []string
}

// shownDifferences is how many differences are put into words.
const shownDifferences = 10

// Compare compares outputs with the answer.
func Compare(answer *Rows, outputs ...Output) Comparison {
	var c Comparison
	wrong := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(answer.byKey)) {
		for _, o := range outputs {
			got, ok := o.Rows.byKey[key]
			if !ok {
				c.differ(wrong, key, "%s: missing: %s", o.Name, answer.show(answer.byKey[key]))
			} else if how := answer.differs(answer.byKey[key], got); how != "" {
				c.differ(wrong, key, "%s: %s: %s", o.Name, key, how)
			}
		}
		if !wrong[key] {
			c.Equal++
		}
	}
	for _, o := range outputs {
		for _, key := range slices.Sorted(maps.Keys(o.Rows.byKey)) {
			if _, ok := answer.byKey[key]; !ok {
				c.differ(wrong, key, "%s: extra: %s", o.Name, o.Rows.show(o.Rows.byKey[key]))
			}
		}
		for _, key := range o.Rows.Doubled {
			if !wrong[key] {
				if _, ok := answer.byKey[key]; ok {
					c.Equal--
				}
			}
			c.differ(wrong, key, "%s: more than one row with %s", o.Name, key)
		}
	}
	c.Different = len(wrong)
	return c
}

func (c *Comparison) differ(wrong map[string]bool, key, format string, args ...any) {
	wrong[key] = true
	if len(c.First) < shownDifferences {
		c.First = append(c.First, fmt.Sprintf(format, args...))
	}
}
