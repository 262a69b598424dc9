package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/decode"
)

// completeness says which parts of a source must be there.
type completeness uint8

const (
	whole        completeness = iota
	recordFormat              // name and kafka may be absent
)

// decodeSource reads a source from a tree; a fault has the pointer of its value.
func decodeSource(root *node, parts completeness) (*Source, error) {
	var d decoder
	s := &Source{}
	tree := root.without("kind")
	if parts == recordFormat && tree.get("name") == nil {
		tree.set("name", newString("record"))
	}
	d.object("", tree, reflect.ValueOf(s).Elem())
	d.checkSource(s, parts)
	if err := d.err(); err != nil {
		return nil, err
	}
	if parts == recordFormat && root.get("name") == nil {
		s.Name = ""
	}
	return s, nil
}

func (d *decoder) checkSource(s *Source, parts completeness) {
	if s.Name != "" {
		d.checkName("/name", s.Name)
	}
	checkWord(d, "/format", s.Format, []Format{FormatJSON})
	checkWord(d, "/update", s.Update, []Update{UpdateAppend, UpdateUpsert})
	switch {
	case s.Kafka != nil:
		d.checkTopic("/kafka/topic", s.Kafka.Topic)
		d.checkConnection("/kafka", s.Kafka.Connection)
	case parts == whole:
		d.fault(CodeMissingMember, "", "add kafka: {topic: …}", "kafka is missing")
	}
	if !s.MaxFuture.Off {
		d.checkElapsed("/max_future", &s.MaxFuture.After)
	}
	if !s.DedupWindow.Off {
		d.checkElapsed("/dedup_window", &s.DedupWindow.After)
	}
	d.checkColumns(s.Columns)
}

// reservedNames are what a source's scope has beside its columns.
var reservedNames = []string{"tbname", "ts"}

func (d *decoder) checkColumns(columns []Column) {
	seen := map[string]bool{}
	for i, c := range columns {
		at := fmt.Sprintf("/columns/%d/name", i)
		switch {
		case c.Name == "":
			continue // missing or of a wrong type: already a fault
		case seen[c.Name]:
			d.fault(CodeDuplicateName, at, "give one of them another name and keep its path", "column %q is declared twice", c.Name)
		case slices.Contains(reservedNames, c.Name) || strings.HasPrefix(c.Name, "_"):
			d.fault(CodeInvalidName, at, "choose another name and set path: $."+c.Name, "the name %q is reserved", c.Name)
		case !decode.PlainName(c.Name) || len(c.Name) > maxName:
			d.fault(CodeInvalidName, at, "choose a plain name and set the path", "%q is not a column name: letters, digits and _, at most %d", c.Name, maxName)
		}
		seen[c.Name] = true
	}
}
