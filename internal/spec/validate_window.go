package spec

import (
	"reflect"
	"slices"
	"strings"
)

// windowMembers says which members a kind of window takes beside kind.
var windowMembers = []struct {
	kind               WindowKind
	required, optional []string
}{
	{WindowInterval, []string{"size"}, []string{"sliding", "offset", "timezone", "week_start"}},
	{WindowSession, []string{"gap"}, []string{"timezone"}},
	{WindowState, []string{"col"}, []string{"true_for", "timezone"}},
	{WindowEvent, []string{"start", "end"}, []string{"true_for", "timezone"}},
	{WindowCount, []string{"count"}, []string{"step", "timezone"}},
}

func (d *decoder) checkWindow(at string, w *Window) {
	var kinds []WindowKind
	for _, m := range windowMembers {
		kinds = append(kinds, m.kind)
		if m.kind == w.Kind {
			d.checkWindowMembers(at, w, m.required, append([]string{"kind"}, append(m.required, m.optional...)...))
		}
	}
	checkWord(d, at+"/kind", w.Kind, kinds)
	checkWord(d, at+"/week_start", w.WeekStart, Weekdays)
	d.checkElapsed(at+"/gap", w.Gap)
	d.checkElapsed(at+"/true_for", w.TrueFor)
	d.checkAtLeast(at+"/count", w.Count, 1)
	d.checkAtLeast(at+"/step", w.Step, 1)
}

func (d *decoder) checkWindowMembers(at string, w *Window, required, known []string) {
	v := reflect.ValueOf(w).Elem()
	for _, f := range fieldsOf(v.Type()) {
		given := !absent(v.FieldByIndex(f.index))
		switch {
		case given && !slices.Contains(known, f.name):
			d.fault(CodeUnknownMember, at+"/"+f.name, "known here: "+strings.Join(known, ", "), "windows of kind %s have no %s", w.Kind, f.name)
		case !given && slices.Contains(required, f.name) && !d.has(at+"/"+f.name):
			d.fault(CodeMissingMember, at, "add "+f.name, "windows of kind %s need %s", w.Kind, f.name)
		}
	}
}

func (d *decoder) checkFill(at string, f *Fill) {
	checkWord(d, at+"/mode", f.Mode, []FillMode{FillNull, FillValue, FillPrev, FillNext, FillLinear})
	switch {
	case f.Mode == FillValue && len(f.Values) == 0:
		d.fault(CodeMissingMember, at, "add values", "fill by value needs values")
	case f.Mode != FillValue && len(f.Values) > 0:
		d.fault(CodeUnknownMember, at+"/values", "leave values out, or set mode: value", "fill by %s takes no values", f.Mode)
	}
}
