package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is one vector.
type Case struct {
	Name        string                    `json:"name"`
	Window      Window                    `json:"window"`
	Trigger     Trigger                   `json:"trigger"`
	Options     Options                   `json:"options"`
	PartitionBy []string                  `json:"partition_by"`
	Tables      map[string]map[string]any `json:"tables"` // tag values by table
	Where       *Condition                `json:"where"`
	Select      []Item                    `json:"select"`
	Input       []Record                  `json:"input"` // in order of arrival
	Expected    []map[string]any          `json:"expected"`
}

// Window is a vector's window. Of the kinds only interval is understood further.
type Window struct {
	Kind      string `json:"kind"`
	SizeMs    int64  `json:"size_ms"`
	SlidingMs int64  `json:"sliding_ms"`
	OffsetMs  int64  `json:"offset_ms"`
}

// Trigger is the name of a trigger; one that comes as an object has its mode.
type Trigger string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Trigger) UnmarshalJSON(text []byte) error {
	var object struct {
		Mode string `json:"mode"`
	}
	if err := json.Unmarshal(text, (*string)(t)); err == nil {
		return nil
	}
	err := json.Unmarshal(text, &object)
	*t = Trigger(object.Mode)
	return err
}

// Options are a vector's switches, 0 or 1, and numbers.
type Options struct {
	IgnoreExpired int64  `json:"ignore_expired"`
	IgnoreUpdate  int64  `json:"ignore_update"`
	WatermarkMs   int64  `json:"watermark_ms"`
	CreatedAfter  *int64 `json:"created_after"`
}

// Condition is a filter of rows.
type Condition struct {
	Col   string `json:"col"`
	Op    string `json:"op"`
	Value any    `json:"value"`
}

// Item is a selected column: a window column, or an aggregate over a column or `*`.
type Item struct {
	Fn  string `json:"fn"`
	Col string `json:"col"`
	As  string `json:"as"`
}

// Record is one input: a row, or a deletion of a range of rows.
type Record struct {
	TimeMs int64
	Values map[string]any // json.Number, string, bool or nil
	Table  string
}

// deletion is the member that makes an input a deletion.
const deletion = "$delete"

// UnmarshalJSON implements json.Unmarshaler: [time, {column: value}, table].
func (r *Record) UnmarshalJSON(text []byte) error {
	parts := []any{&r.TimeMs, &r.Values, &r.Table}
	want := len(parts)
	if err := readJSON(text, &parts); err != nil {
		return err
	}
	if len(parts) != want {
		return fmt.Errorf("an input has %d members, want time, values and table", len(parts))
	}
	return nil
}

// Deletes tells whether the input deletes rows.
func (r *Record) Deletes() bool { _, ok := r.Values[deletion]; return ok }

// readJSON reads JSON and keeps numbers by their literal.
func readJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// Load reads every vector of a directory, in the order of their names.
func Load(dir string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("vectors in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("vectors: no *.json in %s", dir)
	}
	slices.Sort(files)
	cases := make([]*Case, 0, len(files))
	for _, file := range files {
		c, err := loadOne(file)
		if err != nil {
			return nil, fmt.Errorf("vector %s: %w", file, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func loadOne(file string) (*Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &Case{}
	if err := readJSON(text, c); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	return c, nil
}
