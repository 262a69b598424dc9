package decode

import (
	"bytes"
	"encoding/json"
)

// orderedObject is a JSON object whose members keep their order, unlike those of a map.
type orderedObject struct {
	isObject bool
	names    []string
	values   []json.RawMessage
}

// UnmarshalJSON takes any valid JSON text; what is no object is left out.
func (o *orderedObject) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return err
	}
	o.isObject = true
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		o.names = append(o.names, name.(string))
		o.values = append(o.values, value)
	}
	return nil
}
