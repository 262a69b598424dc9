package decode_test

import (
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/decode"
)

// T18: a number passes through no float on the way in, whatever type takes it.
func TestT18_TwoTo53Plus1SurvivesDecoding(t *testing.T) {
	t.Parallel()
	for _, typ := range []block.Type{block.Int64, block.Decimal(38, 0), block.JSON} {
		d, b := one(t, typ)
		for _, digits := range []string{"9007199254740993", "-9223372036854775808", "9223372036854775807"} {
			if got, want := outcome(t, d, b, `{"t":"a","ts":0,"v":`+digits+`}`), digits+" | a | 0"; got != want {
				t.Errorf("%s: got %s, want %s", typ, got, want)
			}
		}
	}
}

// T34: bad records are set aside one by one and leave no trace in what comes after them.
func TestT34_PoisonRecordsLeaveTheirNeighboursAlone(t *testing.T) {
	t.Parallel()
	d, b := one(t, block.String)
	const day = 24 * 3600 * 1000
	limits := decode.Limits{Earliest: decode.AnyTime().Earliest, Latest: 1700000000000 + day}
	for _, c := range []struct {
		record string
		want   decode.Code
	}{
		{`{"ts":"x"}`, decode.MissingTable},
		{`{"t":"a","ts":1700000000000,"v":"good"}`, decode.Accepted},
		{`{"t":"a","ts":1700000000000,"v":["` + strings.Repeat("x", 10<<20) + `"]}`, decode.WrongType},
		{``, decode.EmptyRecord},
		{`{"t":"a","ts":"9999-12-31T23:59:59Z","v":"far"}`, decode.TimeOutOfRange},
		{`{"t":"a","ts":1700000000001,"v":"good"}`, decode.Accepted},
	} {
		if v := d.Append([]byte(c.record), limits, b); v.Code != c.want {
			t.Errorf("%.60s: %+v, want %s", c.record, v, c.want)
		}
	}
	if err := b.Check(); err != nil || b.Rows() != 2 || string(b.Cols[0].Bytes(1)) != "good" || b.Cols[2].Int[1] != 1700000000001 {
		t.Errorf("%v, %d rows, the last is %s", err, b.Rows(), render(b))
	}
}

// T61: a time without a zone, or one that does not exist, is never guessed.
func TestT61_ATimeWithoutAZoneIsRefused(t *testing.T) {
	t.Parallel()
	d, b := one(t, block.Timestamp)
	for _, text := range []string{"2026-07-28T08:00:00", "2026-02-30T00:00:00Z", "2026-07-28T08:00:00+25:00", "2026-07-28"} {
		if got := outcome(t, d, b, `{"t":"a","ts":"`+text+`"}`); got != "bad_time ts" {
			t.Errorf("%s as the event time: %s", text, got)
		}
		if got := outcome(t, d, b, `{"t":"a","ts":0,"v":"`+text+`"}`); got != "wrong_type v" {
			t.Errorf("%s as a column: %s", text, got)
		}
	}
}
