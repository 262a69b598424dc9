package sql

import (
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
)

// Statement is one parsed statement: *CreateStream *CreateSource *Drop *Show *Describe *Explain *Select.
type Statement interface {
	Span() invalid.Span
	statement()
}

// Name is an identifier with its place.
type Name struct {
	Text string
	At   invalid.Span
}

// ObjectKind says what a DROP or SHOW is about.
type ObjectKind uint8

// The kinds of object.
const (
	ObjectStream ObjectKind = iota
	ObjectSource
)

// String returns "stream" or "source".
func (k ObjectKind) String() string {
	if k == ObjectSource {
		return "source"
	}
	return "stream"
}

// CreateStream is CREATE STREAM name [INTO …] [WITH (…)] AS SELECT ….
type CreateStream struct {
	Name  Name
	Into  []Output // in the order written; the planner refuses two of a kind
	With  []Option
	Query *Select
	At    invalid.Span
}

// OutputKind is a kind of INTO target.
type OutputKind uint8

// The kinds of output.
const (
	OutputPostgres OutputKind = iota
	OutputKafka
)

// Output is POSTGRES table or KAFKA 'topic'.
type Output struct {
	Kind   OutputKind
	Target string // the table (schema.table where qualified) or the topic
	At     invalid.Span
}

// Option is one key = value of a WITH clause. Dots in a key lead into nested members: kafka.topic = 'flights'.
type Option struct {
	Key   Name
	Value *Literal // a bare word is a string: update = append
}

// CreateSource is CREATE SOURCE name [(column type [PATH '…'], …)] WITH (…).
type CreateSource struct {
	Name    Name
	Columns []ColumnDef // nil when the list is absent
	With    []Option
	At      invalid.Span
}

// ColumnDef declares a column of a source.
type ColumnDef struct {
	Name Name
	Type block.Type
	Path string // "" when not given
	At   invalid.Span
}

// Drop is DROP STREAM|SOURCE name.
type Drop struct {
	Kind ObjectKind
	Name Name
	At   invalid.Span
}

// Show is SHOW STREAMS|SOURCES.
type Show struct {
	Kind ObjectKind
	At   invalid.Span
}

// Describe is DESCRIBE name, a stream or a source.
type Describe struct {
	Name Name
	At   invalid.Span
}

// Explain is EXPLAIN followed by a CREATE STREAM or a SELECT.
type Explain struct {
	Target Statement
	At     invalid.Span
}

// Select is the query of a stream, or a statement of its own. Clauses that were not written are nil.
type Select struct {
	Items       []SelectItem
	From        Name
	Where       Expr
	PartitionBy []Expr
	Subtable    Expr
	Window      Window
	TrueFor     *DurationClause
	Timezone    *Name // an IANA zone name, not checked here
	Watermark   *DurationClause
	Lateness    *LatenessClause
	Trigger     *TriggerClause
	Fill        *FillClause
	History     *HistoryClause
	At          invalid.Span
}

// SelectItem is one expression of the select list, or the star.
type SelectItem struct {
	Star  bool  // SELECT *: Expr is nil
	Expr  Expr  // its text as written is Text(text, Expr.Span())
	Alias *Name // nil when not given
	At    invalid.Span
}

// DurationClause is a clause with one duration.
type DurationClause struct {
	Duration
	At invalid.Span
}

// LatenessClause is ALLOWED_LATENESS d | UNBOUNDED.
type LatenessClause struct {
	Unbounded bool
	Duration  Duration // zero when unbounded
	At        invalid.Span
}

// Window is a window clause: *IntervalWindow *SessionWindow *StateWindow *EventWindow *CountWindow.
type Window interface {
	Span() invalid.Span
	window()
}

// IntervalWindow is INTERVAL(size[, offset]) [SLIDING(step)].
type IntervalWindow struct {
	Size    Duration
	Offset  *Duration // nil: none
	Sliding *Duration // nil: tumbling
	At      invalid.Span
}

// SessionWindow is SESSION(gap).
type SessionWindow struct {
	Gap Duration
	At  invalid.Span
}

// StateWindow is STATE_WINDOW(column); the grammar takes any expression.
type StateWindow struct {
	Col Expr
	At  invalid.Span
}

// EventWindow is EVENT_WINDOW START WITH c1 END WITH c2.
type EventWindow struct {
	Start, End Expr
	At         invalid.Span
}

// CountWindow is COUNT_WINDOW(n[, step]).
type CountWindow struct {
	Count int64
	Step  *int64 // nil: none
	At    invalid.Span
}

// TriggerMode says when a window's result goes out (DESIGN §8).
type TriggerMode uint8

// The trigger modes.
const (
	TriggerWindowClose TriggerMode = iota
	TriggerAtOnce
	TriggerMaxDelay
	TriggerForceWindowClose
	TriggerContinuousWindowClose
	TriggerPeriod
)

var triggerText = [...]string{
	TriggerWindowClose: "WINDOW_CLOSE", TriggerAtOnce: "AT_ONCE", TriggerMaxDelay: "MAX_DELAY", TriggerForceWindowClose: "FORCE_WINDOW_CLOSE",
	TriggerContinuousWindowClose: "CONTINUOUS_WINDOW_CLOSE", TriggerPeriod: "PERIOD",
}

// String returns the mode's keyword.
func (m TriggerMode) String() string { return triggerText[m] }

// TakesDuration tells whether the keyword is followed by a duration.
func (m TriggerMode) TakesDuration() bool {
	return m == TriggerMaxDelay || m == TriggerContinuousWindowClose || m == TriggerPeriod
}

// TriggerClause is TRIGGER mode [duration].
type TriggerClause struct {
	Mode  TriggerMode
	Every Duration // set when Mode.TakesDuration
	At    invalid.Span
}

// FillMode says what stands in an empty window.
type FillMode uint8

// The fill modes.
const (
	FillNull FillMode = iota
	FillValue
	FillPrev
	FillNext
	FillLinear
)

// FillClause is FILL(NULL | VALUE, e {, e} | PREV | NEXT | LINEAR).
type FillClause struct {
	Mode   FillMode
	Values []Expr // for FillValue
	At     invalid.Span
}

// HistoryClause is FILL_HISTORY [FROM 'time'].
type HistoryClause struct {
	From *Literal // a string; nil: from the beginning
	At   invalid.Span
}

// Span returns where the statement stands in the text.
func (s *CreateStream) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *CreateSource) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *Drop) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *Show) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *Describe) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *Explain) Span() invalid.Span { return s.At }

// Span returns where the statement stands in the text.
func (s *Select) Span() invalid.Span { return s.At }

func (*CreateStream) statement() {}
func (*CreateSource) statement() {}
func (*Drop) statement()         {}
func (*Show) statement()         {}
func (*Describe) statement()     {}
func (*Explain) statement()      {}
func (*Select) statement()       {}

// Span returns where the clause stands in the text.
func (w *IntervalWindow) Span() invalid.Span { return w.At }

// Span returns where the clause stands in the text.
func (w *SessionWindow) Span() invalid.Span { return w.At }

// Span returns where the clause stands in the text.
func (w *StateWindow) Span() invalid.Span { return w.At }

// Span returns where the clause stands in the text.
func (w *EventWindow) Span() invalid.Span { return w.At }

// Span returns where the clause stands in the text.
func (w *CountWindow) Span() invalid.Span { return w.At }

func (*IntervalWindow) window() {}
func (*SessionWindow) window()  {}
func (*StateWindow) window()    {}
func (*EventWindow) window()    {}
func (*CountWindow) window()    {}
