package batch

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Rows are the rows of an answer or of an output, by their key. A value is a text: equal values are equal texts.
type Rows struct {
	// Tolerance is how far a float of an output may be from these rows, relative. 0: equal to the last bit.
	Tolerance float64
	// Doubled are the keys that more than one row has.
	Doubled []string

	columns []Column
	byKey   map[string][]string
}

// NewRows returns rows of these columns, without any.
func NewRows(columns []Column) *Rows { return &Rows{columns: columns, byKey: map[string][]string{}} }

// Len returns the number of different keys.
func (r *Rows) Len() int { return len(r.byKey) }

// Columns are the columns of the rows.
func (r *Rows) Columns() []Column { return r.columns }

// Add adds a row: one text a column, as Value makes it.
func (r *Rows) Add(values []string) {
	var key []string
	for i, c := range r.columns {
		if c.Key {
			key = append(key, c.Name+"="+values[i])
		}
	}
	k := strings.Join(key, " ")
	if _, ok := r.byKey[k]; ok {
		r.Doubled = append(r.Doubled, k)
	}
	r.byKey[k] = values
}

// show is a row for people.
func (r *Rows) show(values []string) string {
	cells := make([]string, len(values))
	for i, c := range r.columns {
		cells[i] = c.Name + "=" + values[i]
	}
	return strings.Join(cells, " ")
}

// differs lists the columns in which a row of an output is not that of r with the same key.
func (r *Rows) differs(want, got []string) string {
	var faults []string
	for i, c := range r.columns {
		if want[i] != got[i] && (c.Type != TypeFloat || !near(want[i], got[i], r.Tolerance)) {
			faults = append(faults, fmt.Sprintf("%s is %s, want %s", c.Name, got[i], want[i]))
		}
	}
	return strings.Join(faults, ", ")
}

func near(want, got string, tolerance float64) bool {
	w, err1 := strconv.ParseFloat(want, 64)
	g, err2 := strconv.ParseFloat(got, 64)
	return err1 == nil && err2 == nil && math.Abs(w-g) <= tolerance*math.Max(math.Abs(w), math.Abs(g))
}

// null is the text of a null. A text value is quoted, so it cannot be taken for one.
const null = "null"

// Value makes the text of a value as it is in JSON, in the form of INTERFACE §3 or in that of a source: a number, a string
// with a number or a time, a string.
func Value(t Type, v any) (string, error) {
	if v == nil {
		return null, nil
	}
	text := fmt.Sprint(v) // a json.Number is its literal
	switch t {
	case TypeInteger:
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return "", fmt.Errorf("%q is no number", text)
		}
		return r.RatString(), nil
	case TypeFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no number", text)
		}
		return floatText(f), nil
	case TypeTime:
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return "", err
		}
		return timeText(at), nil
	default:
		return strconv.Quote(text), nil
	}
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func timeText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// AddJSON adds a row of the form of INTERFACE §3. Members that are no column of these rows are left out.
func (r *Rows) AddJSON(row []byte) error {
	members, err := object(row)
	if err != nil {
		return err
	}
	values := make([]string, len(r.columns))
	for i, c := range r.columns {
		v, ok := members[c.Name]
		if !ok {
			return fmt.Errorf("no column %q in %s", c.Name, row)
		}
		if values[i], err = Value(c.Type, v); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	r.Add(values)
	return nil
}

func object(text []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return nil, fmt.Errorf("row %s: %w", text, err)
	}
	return members, nil
}
