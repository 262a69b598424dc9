package chaos

import "testing"

func TestVerdictNamesEveryWay(t *testing.T) {
	t.Parallel()
	q := Query{Name: "s", Columns: []Column{keyColumn("k", "", 0, nil), column("v", "", 0, nil)}}
	row := func(k, v string) Row { return Row{Key: "k=" + k, Values: []string{k, v}} }
	answer := Answer{Rows: map[string][]string{"k=1": {"1", "a"}, "k=2": {"2", "b"}, "k=3": {"3", "c"}, "k=4": {"4", "d"}}}
	for name, test := range map[string]struct {
		outputs []Output
		want    string
	}{
		"equal":                {[]Output{{Rows: []Row{row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d")}}}, "4 results equal, 0 lost, 0 duplicated, 0 changed"},
		"lost in one of two":   {[]Output{{Rows: []Row{row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d")}}, {Rows: []Row{row("1", "a"), row("2", "b"), row("4", "d")}}}, "3 results equal, 1 lost, 0 duplicated, 0 changed"},
		"equal, but twice":     {[]Output{{Once: true, Rows: []Row{row("1", "a"), row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d")}}}, "3 results equal, 0 lost, 1 duplicated, 0 changed"},
		"twice where it may":   {[]Output{{Rows: []Row{row("1", "x"), row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d")}}}, "4 results equal, 0 lost, 0 duplicated, 0 changed"},
		"deleted":              {[]Output{{Rows: []Row{row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d"), {Key: "k=4"}}}}, "3 results equal, 1 lost, 0 duplicated, 0 changed"},
		"changed":              {[]Output{{Rows: []Row{row("1", "a"), row("2", "b"), row("3", "C"), row("4", "d")}}}, "3 results equal, 0 lost, 0 duplicated, 1 changed"},
		"what is in no answer": {[]Output{{Rows: []Row{row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d"), row("5", "e")}}}, "4 results equal, 0 lost, 0 duplicated, 1 changed"},
		"nothing":              {[]Output{{}}, "0 results equal, 4 lost, 0 duplicated, 0 changed"},
	} {
		var v Verdict
		v.Judge(q, answer, test.outputs...)
		if v.String() != test.want {
			t.Errorf("%s: %s, want %s: %v", name, v, test.want, v.First)
		}
		if clean := test.want[len("4 "):] == "results equal, 0 lost, 0 duplicated, 0 changed"; v.clean() != clean {
			t.Errorf("%s: clean is %v", name, v.clean())
		}
	}
}

// TestAReaderSeesWhatIsTakenBack: a row that was shown and is gone, or is not what the answer has, is found.
func TestAReaderSeesWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	q := Query{Name: "s", Columns: []Column{keyColumn("k", "", 0, nil), column("v", "", 0, nil)}}
	answer := Answer{Rows: map[string][]string{"k=1": {"1", "a"}, "k=2": {"2", "b"}}}
	r := &run{}
	r.observer.note(q, []Row{{Key: "k=1", Values: []string{"1", "x"}}, {Key: "k=2", Values: []string{"2", "b"}}})
	r.observer.note(q, []Row{{Key: "k=1", Values: []string{"1", "a"}}})
	if len(r.observer.broken) != 1 {
		t.Errorf("gone: %v", r.observer.broken)
	}
	var v Verdict
	v.Judge(q, answer, r.observed(q, answer)...)
	if v.Changed != 1 || v.Lost != 0 {
		t.Errorf("%s: %v", v, v.First)
	}
}
