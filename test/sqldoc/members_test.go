package sqldoc

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

// members are the members of a spec that hold a value, with the way to them: kafka.tls.ca.
func members(of reflect.Type) (names []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(of) {
		tag, ok := f.Tag.Lookup("spec")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		below := members(f.Type)
		if len(below) == 0 || f.Type == reflect.TypeFor[*spec.SecretRef]() {
			names = append(names, name)
			continue
		}
		for _, b := range below {
			names = append(names, name+"."+b)
		}
	}
	return names
}

const withTitle = "member, key of `WITH`"

// ofSource and ofStream are the rows about members, and the column that names these.
func ofSource(t *testing.T) []row { return rows(t, "Sources", withTitle) }
func ofStream(t *testing.T) []row {
	return slices.Concat(rows(t, "Keys of WITH", withTitle), rows(t, "Outputs", withTitle), rows(t, "Streams", "clause"))
}

// named are the members that rows name.
func named(all []row) (names []string) {
	for _, r := range all {
		names = append(names, codes(r[withTitle]+r["member"])...)
	}
	return names
}

func TestMembersAreAllThereAre(t *testing.T) {
	t.Parallel()
	later := named(rows(t, "Not supported yet", "member"))
	for what, is := range map[string]struct{ page, code []string }{
		"source": {named(ofSource(t)), members(reflect.TypeFor[spec.Source]())},
		"stream": {append(named(ofStream(t)), later...), members(reflect.TypeFor[spec.Stream]())},
	} {
		for _, name := range is.code {
			if !slices.Contains(is.page, name) {
				t.Errorf("member %s of a %s is not on the page", name, what)
			}
		}
		for _, name := range is.page {
			if !slices.Contains(is.code, name) && (what != "stream" || name != "update") {
				t.Errorf("%s is on the page, but no member of a %s", name, what)
			}
		}
	}
}

// input reads the page's least source, with WITH keys that take the place of its own.
func input(t *testing.T, with string) (*plan.Input, error) {
	t.Helper()
	for _, key := range []string{"format = json", "kafka.topic = 'readings'", "table = device", "event_time = ts"} {
		name, _, _ := strings.Cut(key, " ")
		if !regexp.MustCompile(`(^|, )` + regexp.QuoteMeta(name) + `[ .]`).MatchString(with) {
			with = strings.TrimPrefix(with+", "+key, ", ")
		}
	}
	o, err := object("CREATE SOURCE readings (battery int64, site_name string) WITH (" + with + ")")
	if err != nil {
		return nil, err
	}
	return plan.BuildInput(o.(*spec.Source))
}

func TestKeysAreTaken(t *testing.T) {
	t.Parallel()
	for _, r := range ofSource(t) {
		if example := code(r["example"]); example != "" {
			names(t, r, example)
			if _, err := input(t, example); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
	for _, r := range slices.Concat(rows(t, "Keys of WITH", withTitle), rows(t, "Outputs", withTitle)) {
		example := code(r["example"])
		names(t, r, example)
		if _, err := planned(t, stream(complete(example), "")); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
}

// webhook is what every webhook has.
const webhook = "outputs.webhook.url = 'https://example.com/hook'"

// complete adds what a member of a webhook needs beside.
func complete(with string) string {
	if strings.HasPrefix(with, "outputs.webhook.") && !strings.HasPrefix(with, "outputs.webhook.url") {
		return with + ", " + webhook
	}
	return with
}

// names checks that an example is one of the members of its row.
func names(t *testing.T, r row, example string) {
	t.Helper()
	for _, name := range codes(r[withTitle]) {
		if strings.HasPrefix(example, name) {
			return
		}
	}
	t.Errorf("%s has the example %s", r[withTitle], r["example"])
}

// byDefault is the value at the beginning of a cell; "" where the default has no text.
func byDefault(cell string) string {
	if m := regexp.MustCompile("^`([^`]+)`").FindStringSubmatch(cell); m != nil {
		return m[1]
	}
	return ""
}

// A default is what a stream without the member does: with it, the plan is the same.
func TestDefaultsAreWhatHappensWithoutTheMember(t *testing.T) {
	t.Parallel()
	bare, err := input(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ofSource(t) {
		if value := byDefault(r["default"]); value != "" {
			key := codes(r[withTitle])[0] + " = '" + value + "'"
			if in, err := input(t, key); err != nil || !reflect.DeepEqual(in, bare) {
				t.Errorf("%s is not the default: %v", key, err)
			}
		}
	}
	least, err := planned(t, stream("", ""))
	if err != nil {
		t.Fatal(err)
	}
	leastTold, err := planned(t, stream(webhook, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ofStream(t) {
		value := byDefault(r["default"])
		names := codes(r[withTitle] + r["member"])
		if value == "" || slices.Contains(names, "subtable") {
			continue
		}
		for _, name := range names {
			key := name + " = '" + value + "'"
			without := least
			if complete(key) != key {
				without = leastTold
			}
			p, err := planned(t, stream(complete(key), ""))
			if err != nil || !reflect.DeepEqual(does(p), does(without)) {
				t.Errorf("%s is not the default: %v", key, err)
			}
		}
	}
}

// does is what of a plan follows from members with defaults.
func does(p *plan.Plan) []any {
	return []any{p.Settings, p.Trigger, p.Start, p.Until, *p.Window, p.Affix, p.Input, p.Webhook}
}
