package spec

import (
	"reflect"
	"slices"
)

var timeUnits = []TimeUnit{UnitSecond, UnitMillisecond, UnitMicrosecond, UnitNanosecond}

func (e *EventTime) decode(d *decoder, at string, n *node) {
	if n.kind != nodeObject {
		e.Path.decode(d, at, n)
		return
	}
	var long eventTimeObject
	d.object(at, n, reflect.ValueOf(&long).Elem())
	if long.Unit != "" && !slices.Contains(timeUnits, long.Unit) {
		d.fault(CodeInvalidValue, at+"/unit", "units: "+oneOf(timeUnits), "unknown unit %q", long.Unit)
	}
	*e = EventTime(long)
}

func (e EventTime) encode() *node {
	if e.Unit == "" {
		return e.Path.encode()
	}
	return encodeValue(reflect.ValueOf(eventTimeObject(e)))
}

// eventTimeObject is the long form of EventTime.
type eventTimeObject struct {
	Path Path     `spec:"path,required"`
	Unit TimeUnit `spec:"unit"`
}
