package invalid

import "testing"

func TestNearestFindsTheMeantName(t *testing.T) {
	t.Parallel()
	names := []string{"watermark", "window", "where", "partition_by", "checkpoint_interval"}
	for in, want := range map[string]string{"watermrk": "watermark", "partitionby": "partition_by", "WHERE": "where", "zzz": "", "": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorListsEveryFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	var c Collector
	if c.Err() != nil {
		t.Fatal("an empty collector has an error")
	}
	c.Addf("unknown_member", "/wher", "unknown member %q", "wher")
	c.Add(Detail{Code: "syntax", Span: &Span{Line: 2, Column: 7}, Message: "expected FROM", Hint: "add FROM source"})
	want := "/wher: unknown member \"wher\"\nline 2, column 7: expected FROM (add FROM source)"
	if got := c.Err().Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
