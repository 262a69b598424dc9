package batch

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Record is one line: a JSON object with its numbers as json.Number.
type Record map[string]any

// Get returns the member at a path, nil when it is null or absent.
func (r Record) Get(path string) any {
	var v any = map[string]any(r)
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// Number returns the member at a path as a number; ok is false when it is none.
func (r Record) Number(path string) (value float64, ok bool) {
	n, ok := r.Get(path).(json.Number)
	if !ok {
		return 0, false
	}
	value, err := n.Float64()
	return value, err == nil
}

// time returns the event time.
func (r Record) time(path string) (time.Time, error) {
	switch v := r.Get(path).(type) {
	case json.Number:
		ms, err := v.Int64()
		return time.UnixMilli(ms).UTC(), err
	case string:
		at, err := time.Parse(time.RFC3339Nano, v)
		return at.UTC(), err
	default:
		return time.Time{}, fmt.Errorf("member %s is no time: %v", path, v)
	}
}

// exact returns a number as a rational. A literal with a point or an exponent is first rounded to a double, as every reader
// of JSON does.
func exact(n json.Number) (*big.Rat, error) {
	if strings.ContainsAny(n.String(), ".eE") {
		f, err := n.Float64()
		if err != nil {
			return nil, err
		}
		return new(big.Rat).SetFloat64(f), nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil, fmt.Errorf("%s is no number", n)
	}
	return r, nil
}
