package decode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/block"
)

// Proposal is a source that would fit a sample. Paths are in text form, as in a spec.
type Proposal struct {
	Table     string // empty: nothing in the sample looks like a table name
	EventTime string // empty: nothing in the sample looks like an event time
	Unit      Unit
	Columns   []ProposedColumn
}

// ProposedColumn is a column of a Proposal.
type ProposedColumn struct {
	Name string
	Type block.Type
	Path string // from $ on, also where it could be left out
}

// maxSample is the number of records that a proposal is made from; more would not change it.
const maxSample = 10000

// ErrNoSample means that no record of the sample is a JSON object.
var ErrNoSample = errors.New("no JSON object in the sample")

// Infer proposes a source for a sample of records, one a line: each scalar member becomes a column of the narrowest
// type that holds all its values, members of objects by their path, arrays as json. The notes say what was guessed and
// what does not fit, one sentence each: a proposal is for a human to read, nothing is guessed when records are decoded.
// Few bad records (see most) do not change a proposal; they are counted in the notes.
func Infer(sample []byte) (*Proposal, []string, error) {
	in := inferrer{byPath: make(map[string]*member)}
	lines := NewLines(bytes.NewReader(sample))
	for in.records < maxSample {
		line, err := lines.Next()
		if err != nil {
			break // the end: a bytes.Reader has no other error
		}
		in.addRecord(line)
	}
	if in.read() == 0 {
		return nil, nil, ErrNoSample
	}
	in.noteLines(in.malformed, "not JSON")
	in.noteLines(in.others, "no JSON object")
	p := &Proposal{}
	if m := in.pickTime(); m != nil {
		p.EventTime, p.Unit = m.path.String(), m.unit()
	} else {
		in.notef("no member looks like an event time: name one as event_time")
	}
	if m := in.pickTable(p.EventTime); m != nil {
		p.Table = m.path.String()
	} else {
		in.notef("no member looks like a table name: name one as table")
	}
	in.columns(p)
	return p, in.notes, nil
}

// inferrer gathers what the sample has.
type inferrer struct {
	members []*member // in the order in which they first came
	byPath  map[string]*member
	records int
	// The numbers of the lines that were left out.
	malformed []int // no JSON
	others    []int // JSON, but no object
	notes     []string
}

// read is how many records the proposal is made from.
func (in *inferrer) read() int { return in.records - len(in.malformed) - len(in.others) }

// noteLines tells of lines that were left out, and where the first ones are.
func (in *inferrer) noteLines(lines []int, what string) {
	const shown = 3
	if len(lines) == 0 {
		return
	}
	is, word := "are", "lines"
	if len(lines) == 1 {
		is, word = "is", "line"
	}
	var numbers []string
	for _, n := range lines[:min(shown, len(lines))] {
		numbers = append(numbers, strconv.Itoa(n))
	}
	if len(lines) > shown {
		numbers = append(numbers, "…")
	}
	in.notef("%d of %d lines %s %s: %s %s; left out", len(lines), in.records, is, what, word, strings.Join(numbers, ", "))
}

// most tells whether n of all records are enough to take the others for bad ones: all of a small sample, nineteen in twenty
// of a large one.
func most(n, all int) bool {
	const oneIn = 20
	return all-n <= all/oneIn
}

// noteBad counts the records that lack what was chosen.
func (in *inferrer) noteBad(what string, m *member, good int) {
	if bad := in.read() - good; bad > 0 {
		in.notef("%d of %d records without %s at %s: such records become dead letters", bad, in.read(), what, m.path)
	}
}

func (in *inferrer) notef(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

// wordsOfTime and wordsOfTable are names that producers give to the two, the likeliest first.
var (
	wordsOfTime  = []string{"ts", "timestamp", "time", "event_time", "eventtime", "datetime", "created_at", "date"}
	wordsOfTable = []string{"device", "device_id", "deviceid", "sensor", "sensor_id", "host", "symbol", "station", "id", "name"}
)

// rank returns the place of a member's name in the list, behind all of it for any other name.
func (m *member) rank(words []string) int {
	name := strings.ToLower(m.path[len(m.path)-1].Name)
	if i := slices.Index(words, name); i >= 0 {
		return i
	}
	return len(words)
}

// pickTime returns the member that is likeliest the event time: one that the records have, with a known name before
// one whose values merely are times.
func (in *inferrer) pickTime() *member {
	var times []*member
	for _, m := range in.members {
		known := m.rank(wordsOfTime) < len(wordsOfTime)
		if most(m.count, in.read()) && (m.isTime() || known && m.isEpoch()) {
			times = append(times, m)
		}
	}
	m := first(times, func(m *member) int { return m.rank(wordsOfTime) })
	if m == nil {
		return nil
	}
	in.notef("event_time is %s, because of its name and values", m.path)
	if u := m.unit(); u != Milliseconds {
		in.notef("%s looks like %s: its unit is stated", m.path, unitWords[u])
	}
	in.noteBad("an event time", m, max(m.times, m.integral))
	return m
}

var unitWords = map[Unit]string{Seconds: "seconds since 1970", Microseconds: "microseconds since 1970", Nanoseconds: "nanoseconds since 1970"}

// pickTable returns the member that is likeliest the table name: a string that the records have, with a known name
// before one whose values repeat.
func (in *inferrer) pickTable(eventTime string) *member {
	var names []*member
	for _, m := range in.members {
		repeats := len(m.distinct) < m.count
		// A name that never comes twice in a large sample is an id of the record, not of a series.
		known := m.rank(wordsOfTable) < len(wordsOfTable) && (repeats || m.count < enoughToRepeat)
		if most(m.kinds[kindString], in.read()) && !m.isTime() && m.path.String() != eventTime && m.longest <= maxTableName && (known || repeats && len(m.distinct) > 1) {
			names = append(names, m)
		}
	}
	m := first(names, func(m *member) int { return m.rank(wordsOfTable) })
	if m != nil {
		in.notef("table is %s, with %d names in the sample", m.path, len(m.distinct))
		in.noteBad("a table name", m, m.kinds[kindString])
	}
	return m
}

// enoughToRepeat is the number of records in which some table of a real source comes twice.
const enoughToRepeat = 100

// first returns the member with the lowest rank, of equals the first in the records.
func first(members []*member, rank func(*member) int) *member {
	if len(members) == 0 {
		return nil
	}
	return slices.MinFunc(members, func(a, b *member) int { return cmp.Compare(rank(a), rank(b)) })
}

// columns makes a column of each member but the table name and the event time.
func (in *inferrer) columns(p *Proposal) {
	taken := map[string]bool{TableColumn: true, TimeColumn: true}
	for _, m := range in.members {
		path := m.path.String()
		if path == p.Table || path == p.EventTime || m.onlyObjects() {
			continue
		}
		if m.count == 0 {
			in.notef("%s is null in every record and was left out", path)
			continue
		}
		c := ProposedColumn{Name: columnName(m.path, taken), Type: m.columnType(), Path: m.path.rooted()}
		if note := m.note(); note != "" {
			in.notef("%s: %s", path, note)
		}
		p.Columns = append(p.Columns, c)
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// maxColumnName is the longest column name.
const maxColumnName = 63

// columnName makes a name of a path: its members joined by _, in lower case, and a number where that is taken.
func columnName(p Path, taken map[string]bool) string {
	var words []string
	for _, s := range p {
		words = append(words, s.Name)
	}
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(strings.Join(words, "_")), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = "c_" + name
	}
	const roomForNumber = 6
	name = name[:min(len(name), maxColumnName-roomForNumber)]
	unique := name
	for i := 2; taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	taken[unique] = true
	return unique
}
