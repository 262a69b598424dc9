package setaside

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/spec"
)

// spot is a place in the source's topic.
type spot struct{ partition, offset int64 }

func (a spot) compare(b spot) int {
	return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
}

// picked is a record that a request names.
type picked struct {
	mended []byte // nil: as it was
	found  bool
}

// choice says which dead letters a request means.
type choice struct {
	records   map[spot]*picked // nil: any
	partition *int32           // nil: any
	from, to  int64            // offsets; to is not within
	codes     []string         // nil: any
	stream    string           // that takes them; "": all
}

// newChoice understands a request. Errors: *invalid.Error.
func newChoice(r common.ReplayRequest) (*choice, error) {
	c := &choice{partition: r.Partition, to: math.MaxInt64, codes: r.Codes}
	if r.From != nil {
		c.from = int64(*r.From)
	}
	if r.To != nil {
		c.to = int64(*r.To)
	}
	if r.Stream != nil {
		c.stream = *r.Stream
	}
	var faults invalid.Collector
	if r.Records != nil { // an empty list means none
		c.records = map[spot]*picked{}
	}
	for i, rec := range r.Records {
		at := spot{int64(rec.Partition), int64(rec.Offset)}
		pointer := fmt.Sprintf("/records/%d", i)
		if c.records[at] != nil {
			faults.Addf(spec.CodeDuplicateName, pointer, "partition %d, offset %d is given twice", at.partition, at.offset)
		}
		p := &picked{mended: rec.ValueBase64}
		if rec.Value != nil {
			p.mended = []byte(*rec.Value)
			if rec.ValueBase64 != nil {
				faults.Addf(spec.CodeConflict, pointer, "value and value_base64 exclude each other")
			}
		}
		c.records[at] = p
	}
	return c, faults.Err()
}

// find tells whether the request means a dead letter, and what it says of it. A dead letter of one stream alone is
// nothing to another: that has taken the record when it came first.
func (c *choice) find(id identity, code, of string) (at *picked, ok bool) {
	if c.stream != "" && of != "" && of != c.stream {
		return nil, false
	}
	if c.codes != nil && !slices.Contains(c.codes, code) {
		return nil, false
	}
	if c.partition != nil && int64(*c.partition) != id.Partition {
		return nil, false
	}
	// What has no origin has no offset: it is meant only where nothing is said of offsets.
	if bounded := c.from > 0 || c.to < math.MaxInt64; bounded && (id.Topic == "" || id.Offset < c.from || id.Offset >= c.to) {
		return nil, false
	}
	if c.records == nil {
		return nil, true
	}
	at = c.records[spot{id.Partition, id.Offset}]
	return at, at != nil
}
