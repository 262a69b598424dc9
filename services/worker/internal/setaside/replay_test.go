package setaside

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/api/scalar"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/kafka"
	"github.com/pondage/pondage/internal/problem"
)

// replayRig has a source topic with two partitions, and dead letters of it.
func replayRig(t *testing.T, letters ...letter) *rig {
	t.Helper()
	r := newRig(t)
	r.write("readings", 2)
	r.write("test.readings.dead", 2, letters...)
	return r
}

// replayed is what the source topic holds: "partition key value dlq stream", sorted.
func (r *rig) replayed() []string {
	r.t.Helper()
	k, err := r.hub.Cluster()
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	err = scan(r.t.Context(), k, "readings", func(rec *kafka.Record) error {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", rec.Key, rec.Value, header(rec, "dlq"), header(rec, "stream"))))
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// refusals are the records that were not replayed, with the reason.
func refusals(a common.ReplayAnswer) (out []string) {
	for _, n := range a.NotReplayed {
		out = append(out, fmt.Sprintf("%s/%d/%s %s", n.Topic, n.Partition, n.Offset, n.Reason))
	}
	slices.Sort(out)
	return out
}

func number32(n int32) *int32 { return &n }

func offset(n int64) *common.Offset {
	o := scalar.Int64(n)
	return &o
}

func text(s string) *string { return &s }

func TestEveryDeadLetterIsReplayedOnce(t *testing.T) {
	t.Parallel()
	letters := []letter{
		{topic: "readings", partition: 0, offset: 5, code: "malformed_json", key: "k", value: "{"},
		{topic: "readings", partition: 1, offset: 5, code: "malformed_json", value: "["},
		{topic: "readings", partition: 0, offset: 6, code: "division_by_zero", stream: "s1", value: "{}"}, // two streams have rejected it
		{topic: "readings", partition: 0, offset: 6, code: "division_by_zero", stream: "s2", value: "{}"},
		{partition: -1, offset: -1, code: "poison_row", stream: "s1", value: "{}"},
		{topic: "readings", partition: 1, offset: 7, code: "too_deep", value: lost},
		{topic: "before", partition: 0, offset: 1, code: "too_deep", value: "x"},
		{topic: "readings", partition: 2, offset: 1, code: "too_deep", value: "x"},
	}
	r := replayRig(t, append(letters, letters...)...) // a reset has written all again
	a, err := r.Replay(t.Context(), "readings", common.ReplayRequest{})
	if err != nil || a.Replayed != 4 || a.NotReplayedCount != 4 {
		t.Errorf("%+v, %v", a, err)
	}
	wantLines(t, "replayed", r.replayed(), []string{"[ readings/1/5", "k { readings/0/5", "{} readings/0/6 s1", "{} readings/0/6 s2"})
	wantLines(t, "refused", refusals(a), []string{
		"/-1/-1 it is a result, not a record of the source", "before/0/1 the source reads topic readings now",
		"readings/1/7 its bytes were not kept; send it with mended ones", "readings/2/1 topic readings has 2 partitions",
	})
}

// TestAReplayLiesInItsOriginsPartition: else its source task could not tell whether it is the first.
func TestAReplayLiesInItsOriginsPartition(t *testing.T) {
	t.Parallel()
	r := replayRig(t, letter{topic: "readings", partition: 1, offset: 5, code: "c", key: "k", value: "{"}, letter{topic: "readings", partition: 0, offset: 5, code: "c", key: "k", value: "{"})
	if _, err := r.Replay(t.Context(), "readings", common.ReplayRequest{Partition: number32(1)}); err != nil {
		t.Fatal(err)
	}
	k, err := r.hub.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	ends, err := k.Client.Stables(t.Context(), "readings")
	if err != nil || ends[0] != 0 || ends[1] == 0 {
		t.Errorf("ends %v, %v", ends, err)
	}
}

func TestWhatIsChosenIsReplayed(t *testing.T) {
	t.Parallel()
	letters := []letter{
		{topic: "readings", partition: 0, offset: 5, code: "a", value: "v5"}, {topic: "readings", partition: 0, offset: 6, code: "b", value: "v6"},
		{topic: "readings", partition: 0, offset: 7, code: "b", stream: "other", value: "v7"}, {topic: "readings", partition: 1, offset: 6, code: "c", value: "v16"},
		{partition: -1, offset: -1, code: "poison_row", stream: "s1", value: "{}"},
	}
	pick := func(partition int32, offset int64, value *string) common.ReplayRecord {
		return common.ReplayRecord{Partition: partition, Offset: scalar.Int64(offset), Value: value}
	}
	for name, c := range map[string]struct {
		request common.ReplayRequest
		want    []string
		refused []string
	}{
		"by code":      {request: common.ReplayRequest{Codes: []string{"a", "c"}}, want: []string{"v16 readings/1/6", "v5 readings/0/5"}},
		"by partition": {request: common.ReplayRequest{Partition: number32(1)}, want: []string{"v16 readings/1/6"}},
		"by offset":    {request: common.ReplayRequest{Partition: number32(0), From: offset(6), To: offset(7)}, want: []string{"v6 readings/0/6"}},
		"for a stream": {request: common.ReplayRequest{Stream: text("per_minute"), To: offset(100)}, want: []string{"v16 readings/1/6 per_minute", "v5 readings/0/5 per_minute", "v6 readings/0/6 per_minute"}},
		"none":         {request: common.ReplayRequest{Records: []common.ReplayRecord{}}},
		"mended": {
			request: common.ReplayRequest{Records: []common.ReplayRecord{pick(0, 6, text("good")), {Partition: 0, Offset: 5, ValueBase64: []byte{}}, pick(1, 6, nil), pick(1, 9, text("x"))}},
			want:    []string{"good readings/0/6", "readings/0/5", "v16 readings/1/6"}, refused: []string{"readings/1/9 there is no such dead letter among the newest"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := replayRig(t, letters...)
			a, err := r.Replay(t.Context(), "readings", c.request)
			if err != nil || int(a.Replayed) != len(c.want) {
				t.Fatalf("%+v, %v", a, err)
			}
			for i, line := range r.replayed() {
				if i >= len(c.want) || strings.TrimSpace(line) != c.want[i] {
					t.Errorf("line %d is %q", i, line)
				}
			}
			wantLines(t, "refused", refusals(a), c.refused)
		})
	}
}

func TestReplaysThatCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.Replay(t.Context(), "nosuch", common.ReplayRequest{})
	_, stream := r.Replay(t.Context(), "readings", common.ReplayRequest{Stream: text("nosuch")})
	_, topic := r.Replay(t.Context(), "readings", common.ReplayRequest{})
	for want, err := range map[problem.Code]error{"source_unknown": err, "stream_unknown": stream, "topic_unknown": topic} {
		if err == nil || problem.From(err).Code != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	twice := common.ReplayRequest{Records: []common.ReplayRecord{{Offset: 1}, {Offset: 1, Value: text("x"), ValueBase64: []byte("y")}}}
	for pointers, request := range map[string]common.ReplayRequest{"/records/1 /records/1": twice, "/stream": {Stream: text("per_hour")}} {
		_, err := r.Replay(t.Context(), "readings", request)
		var faults *invalid.Error
		if !errors.As(err, &faults) {
			t.Errorf("%s: %v", pointers, err)
			continue
		}
		var got []string
		for _, d := range faults.Details {
			got = append(got, d.Pointer)
		}
		if strings.Join(got, " ") != pointers {
			t.Errorf("want %s, got %v", pointers, err)
		}
	}
}
