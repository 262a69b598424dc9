package check

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// Sidecar says what the decoder should make of the records of a file.
type Sidecar struct {
	// Source is the source of the records, in the form of a source spec.
	Source    json.RawMessage `json:"source"`
	Cases     []Case          `json:"cases"`
	Generated []Case          `json:"generated"`
}

// Case is what should become of one record.
type Case struct {
	Line    int                        `json:"line"`
	Name    string                     `json:"name"`
	Verdict string                     `json:"verdict"`
	Row     map[string]json.RawMessage `json:"row"`
	Code    decode.Code                `json:"code"`
	Also    []decode.Code              `json:"also"`
	Field   string                     `json:"field"`
}

// ParseSidecar reads a sidecar.
func ParseSidecar(doc []byte) (*Sidecar, error) {
	var s Sidecar
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	if len(s.Source) == 0 {
		return nil, fmt.Errorf("sidecar: no source")
	}
	for _, c := range slices.Concat(s.Cases, s.Generated) {
		if c.Verdict != verdictAccept && c.Verdict != verdictRefuse {
			return nil, fmt.Errorf("sidecar: case %s: verdict %q: want %s or %s", c.Name, c.Verdict, verdictAccept, verdictRefuse)
		}
	}
	return &s, nil
}

// compare returns what differs between the case and what the decoder said; "" if nothing.
func (c *Case) compare(v decode.Verdict, row *block.Batch) string {
	got := verdictAccept
	if !v.OK() {
		got = fmt.Sprintf("%s %s %s (%s)", verdictRefuse, v.Code, v.Field, v.Reason)
	}
	switch {
	case (c.Verdict == verdictAccept) != v.OK():
		return fmt.Sprintf("got %s, want %s %s", got, c.Verdict, c.Code)
	case v.OK():
		return c.compareRow(row)
	case v.Code != c.Code && !slices.Contains(c.Also, v.Code):
		return fmt.Sprintf("got %s, want code %s", got, c.Code)
	case c.Field != "" && v.Field != c.Field:
		return fmt.Sprintf("got %s, want field %s", got, c.Field)
	}
	return ""
}

// compareRow compares row 0 of a decoder's batch with the case's row, member by member.
func (c *Case) compareRow(b *block.Batch) string {
	declared := len(b.Cols) - 2
	want := len(c.Row)
	for i, col := range b.Cols {
		name := b.Schema[i].Name
		switch i {
		case declared:
			name = "table"
		case declared + 1:
			name = "ts"
		}
		expected, ok := c.Row[name]
		if !ok {
			return fmt.Sprintf("the expected row has no %s", name)
		}
		want--
		if !equalValue(expected, col) {
			return fmt.Sprintf("%s is %s, want %s", name, appendValue(nil, col), expected)
		}
	}
	if want != 0 {
		return fmt.Sprintf("the expected row has %d members that are no columns", want)
	}
	return ""
}

// equalValue compares row 0 of a column with its expected form: numbers as strings, floats by their value (all NaNs are
// equal, the zeros are not), long strings by length and hash.
func equalValue(expected json.RawMessage, c *block.Column) bool {
	if string(expected) == "null" || c.IsNull(0) {
		return string(expected) == "null" && c.IsNull(0)
	}
	if c.Type.Kind == block.KindBool {
		return string(expected) == strconv.FormatBool(c.Bool[0])
	}
	isText := c.Type.Kind == block.KindString || c.Type.Kind == block.KindJSON
	if isText && expected[0] == '{' {
		var d digest
		return json.Unmarshal(expected, &d) == nil && d == digestOf(c.Bytes(0))
	}
	var text string
	if json.Unmarshal(expected, &text) != nil {
		return false
	}
	switch {
	case isText:
		return text == string(c.Bytes(0))
	case c.Type.Kind == block.KindFloat64:
		x, err := strconv.ParseFloat(text, 64)
		got := c.Float[0]
		return err == nil && (math.Float64bits(x) == math.Float64bits(got) || math.IsNaN(x) && math.IsNaN(got))
	}
	return text == numberText(c)
}
