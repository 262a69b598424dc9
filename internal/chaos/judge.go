package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/batch"
)

// Verdict counts the results of all streams.
type Verdict struct {
	Equal int64 `json:"equal"`
	// Lost: in the answer, not in an output. Duplicated: more than once where that must not be. Changed: another value, or a
	// result that is not in the answer.
	Lost       int64 `json:"lost"`
	Duplicated int64 `json:"duplicated"`
	Changed    int64 `json:"changed"`
	// First are a few of the differences, in words.
	First []string `json:"first,omitempty"`
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d results equal, %d lost, %d duplicated, %d changed", v.Equal, v.Lost, v.Duplicated, v.Changed)
}

func (v Verdict) clean() bool {
	return v.Equal > 0 && v.Lost == 0 && v.Duplicated == 0 && v.Changed == 0
}

// shown bounds the differences in words.
const shown = 12

func (v *Verdict) say(format string, args ...any) {
	if len(v.First) < shown {
		v.First = append(v.First, fmt.Sprintf(format, args...))
	}
}

// Output is what a stream has left in one place.
type Output struct {
	Name string
	// Rows in the order they came.
	Rows []Row
	// Once: a second row of a key is one too many, also an equal one. Else the last one counts.
	Once bool
}

// Row is a result with its key.
type Row struct {
	Key    string
	Values []string // nil: a delete
}

// Judge compares the outputs of a stream with the answer. A key that is wrong counts once for each way in which it is wrong,
// whatever the number of outputs.
func (v *Verdict) Judge(q Query, answer Answer, outputs ...Output) {
	lost, doubled, changed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range outputs {
		at := q.Name + " in " + o.Name
		found := map[string][]string{}
		for _, r := range o.Rows {
			if r.Values == nil && !o.Once {
				delete(found, r.Key)
				continue
			}
			if _, twice := found[r.Key]; twice && o.Once {
				doubled[r.Key] = true
				v.say("%s: duplicated: %s: %s after %s", at, r.Key, strings.Join(r.Values, " "), strings.Join(found[r.Key], " "))
			}
			found[r.Key] = r.Values
		}
		for key, want := range answer.Rows {
			got, ok := found[key]
			if !ok {
				lost[key] = true
				v.say("%s: lost: %s", at, strings.Join(want, " "))
			} else if !slices.Equal(got, want) {
				changed[key] = true
				v.say("%s: changed: %s: is %s, want %s", at, key, strings.Join(got, " "), strings.Join(want, " "))
			}
		}
		for key, got := range found {
			if _, ok := answer.Rows[key]; !ok {
				changed[key] = true
				v.say("%s: in no answer: %s", at, strings.Join(got, " "))
			}
		}
	}
	for key := range answer.Rows {
		if !lost[key] && !doubled[key] && !changed[key] {
			v.Equal++
		}
	}
	v.Lost, v.Duplicated, v.Changed = v.Lost+int64(len(lost)), v.Duplicated+int64(len(doubled)), v.Changed+int64(len(changed))
}

// input reads the records that the streams have to read.
func (r *run) input(ctx context.Context) ([]Read, error) {
	found, err := readTopic(ctx, r.cluster.kafka.addresses(), sourceName)
	if err != nil {
		return nil, err
	}
	out := make([]Read, len(found))
	for i, l := range found {
		out[i] = Read{Partition: l.Partition, Offset: l.Offset, Value: l.Value}
	}
	if lost := lostInput(r.records, out); lost > 0 {
		return nil, fmt.Errorf("%d acknowledged records are not in the source topic: the broker has lost them", lost)
	}
	return out, nil
}

// judge reads every output and compares it. An output that cannot be read is one without rows.
func (r *run) judge(ctx context.Context, answers map[string]Answer) (Verdict, error) {
	var v Verdict
	for _, q := range r.queries {
		answer := answers[q.Name]
		var outputs []Output
		if q.Postgres != "" {
			rows, err := readTable(ctx, r.cluster.pg.DSN(), q)
			if err != nil {
				v.say("%v", err)
			}
			outputs = append(outputs, Output{Name: "postgres", Rows: rows, Once: true})
			outputs = append(outputs, r.observed(q, answer)...)
		}
		if q.Kafka != "" {
			rows, err := readResults(ctx, r.cluster.kafka.addresses(), q)
			if err != nil {
				v.say("%v", err)
			}
			outputs = append(outputs, Output{Name: "kafka", Rows: rows, Once: q.Kafka == deliveryTransactional})
		}
		v.Judge(q, answer, outputs...)
	}
	return v, ctx.Err()
}

// readTable reads a table of results. Values come as text that the server makes, so that no driver alters them.
func readTable(ctx context.Context, dsn string, q Query) ([]Row, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", q.Name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var cells []string
	for _, c := range q.Columns {
		name := pgx.Identifier{c.Name}.Sanitize()
		if c.Type == batch.TypeTime {
			cells = append(cells, fmt.Sprintf(`to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`, name))
		} else {
			cells = append(cells, name+"::text")
		}
	}
	found, err := conn.Query(ctx, "SELECT "+strings.Join(cells, ", ")+" FROM "+pgx.Identifier{q.Name}.Sanitize())
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", q.Name, err)
	}
	defer found.Close()
	texts := make([]*string, len(q.Columns))
	into := make([]any, len(q.Columns))
	for i := range texts {
		into[i] = &texts[i]
	}
	var out []Row
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("read table %s: %w", q.Name, err)
		}
		row, err := q.row(func(i int) any {
			if texts[i] == nil {
				return nil
			}
			return *texts[i]
		})
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", q.Name, err)
		}
		out = append(out, row)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read table %s: %w", q.Name, err)
	}
	return out, nil
}

// readResults reads a topic of results.
func readResults(ctx context.Context, brokers []string, q Query) ([]Row, error) {
	records, err := readTopic(ctx, brokers, q.Name)
	if err != nil {
		return nil, err
	}
	// The key of a record names a row without its columns: a delete has no others.
	keys := map[string]string{}
	var out []Row
	for _, r := range records {
		if r.Value == nil {
			out = append(out, Row{Key: keys[r.Key]})
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(r.Value))
		decoder.UseNumber()
		var members map[string]any
		if err := decoder.Decode(&members); err != nil {
			return out, fmt.Errorf("topic %s, partition %d, offset %d: %w", q.Name, r.Partition, r.Offset, err)
		}
		row, err := q.row(func(i int) any { return members[q.Columns[i].Name] })
		if err != nil {
			return out, fmt.Errorf("topic %s, partition %d, offset %d: %w", q.Name, r.Partition, r.Offset, err)
		}
		keys[r.Key] = row.Key
		out = append(out, row)
	}
	return out, nil
}

// row makes comparable texts of a result.
func (q Query) row(value func(column int) any) (Row, error) {
	values := make([]string, len(q.Columns))
	for i, c := range q.Columns {
		var err error
		if values[i], err = batch.Value(c.Type, value(i)); err != nil {
			return Row{}, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return Row{Key: q.key(values), Values: values}, nil
}

// counts compares where the records of a stream went, with where they had to go.
func (a Answer) counts(s coordinator.Stream) []string {
	var out []string
	got := s.Counters
	want := map[string][2]int64{
		"accepted": {int64(got.Accepted), a.Accepted}, "counted": {int64(got.Counted), a.Counted}, "filtered": {int64(got.Filtered), a.Filtered},
		"late": {int64(got.Late), a.Late}, "dead_lettered": {int64(got.DeadLettered), a.Dead}, "no_window": {int64(got.NoWindow), 0},
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if n := want[name]; n[0] != n[1] {
			out = append(out, fmt.Sprintf("%s: counter %s is %d, want %d", s.Name, name, n[0], n[1]))
		}
	}
	return out
}
