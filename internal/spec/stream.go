package spec

// Stream declares a continuous query (INTERFACE §1). A member that is absent has the default that package plan gives.
type Stream struct {
	Name   string `spec:"name,required"`
	Source string `spec:"source,required"`
	// Start and Until bound the run; both are resolved to offsets when the stream is created.
	Start Start `spec:"start"`
	Until Until `spec:"until"`

	Select      []Item `spec:"select"`
	Where       Expr   `spec:"where"`
	PartitionBy []Expr `spec:"partition_by"`
	// Subtable names a group's output table over its group keys (DESIGN §3). SubtableExact takes the name as it is:
	// a second group with it is an error of its rows.
	Subtable      Expr    `spec:"subtable"`
	SubtableExact bool    `spec:"subtable_exact"`
	Window        *Window `spec:"window"`
	Trigger       Trigger `spec:"trigger"`
	Fill          *Fill   `spec:"fill"`

	// Watermark is how far the watermark lags the highest event time of a partition.
	Watermark       *Duration `spec:"watermark"`
	LateBy          LateBy    `spec:"late_by"`
	AllowedLateness *Lateness `spec:"allowed_lateness"`
	// TableTTL is the allowed lateness of a row that is ahead of its own table (late_by: table).
	TableTTL *Duration `spec:"table_ttl"`
	// IdleTimeout is how long a partition without records holds the watermark.
	IdleTimeout *Duration `spec:"idle_timeout"`
	// CloseIdleAfter is after how long a silence windows close without new data; 0 is off.
	CloseIdleAfter *Duration `spec:"close_idle_after"`

	Outputs Outputs  `spec:"outputs"`
	Results *Results `spec:"results"`

	CheckpointInterval   *Duration `spec:"checkpoint_interval"`
	CheckpointTimeout    *Duration `spec:"checkpoint_timeout"`
	Retain               *int64    `spec:"retain"`
	MaxFailedCheckpoints *int64    `spec:"max_failed_checkpoints"`
	MaxRestarts          *int64    `spec:"max_restarts"`
	StartTimeout         *Duration `spec:"start_timeout"`
	// MaxGroups bounds the groups that the stream may have.
	MaxGroups   *int64       `spec:"max_groups"`
	Dispatch    *Dispatch    `spec:"dispatch"`
	Edge        *Edge        `spec:"edge"`
	FillHistory *FillHistory `spec:"fill_history"`

	places Places // nil unless read from SQL
}

// Item is one selected expression; As renames it in the result.
type Item struct {
	Expr Expr   `spec:"expr,required"`
	As   string `spec:"as"`
}

// LateBy says what a late row is behind of (DESIGN §8). Empty is window.
type LateBy string

// The lateness rules.
const (
	LateByWindow LateBy = "window" // all windows of the row have closed
	LateByTable  LateBy = "table"  // … and the row is not ahead of its own table
)

// Results configures the stream's own result table behind GET /v1/streams/{name}/results. Retain 0 switches it off.
type Results struct {
	Retain *Duration `spec:"retain"`
}

// Dispatch bounds what the sender of an edge has under way (DESIGN §5).
type Dispatch struct {
	MaxBatch *Size `spec:"max_batch"`
}

// Edge configures the stream's edge topics (DESIGN §4): Keep is how long consumed blocks are kept to look at.
type Edge struct {
	Keep *Duration `spec:"keep"`
}

// FillHistory asks for the rows from before the stream's creation (DESIGN §8).
type FillHistory struct {
	From *Instant `spec:"from"`
}

// Places says that the stream was read from SQL and where its values stand; nil otherwise.
func (s *Stream) Places() Places { return s.places }

// ObjectKind returns "stream".
func (s *Stream) ObjectKind() Kind { return KindStream }

// ObjectName returns the stream's name.
func (s *Stream) ObjectName() string { return s.Name }

// Canonical returns the stable JSON form, without kind: what the metastore stores and the API shows.
func (s *Stream) Canonical() []byte { return canonical(s) }

// MarshalJSON returns the canonical form.
func (s *Stream) MarshalJSON() ([]byte, error) { return s.Canonical(), nil }

// UnmarshalJSON is ParseStream.
func (s *Stream) UnmarshalJSON(doc []byte) error {
	out, err := ParseStream(doc)
	if err == nil {
		*s = *out
	}
	return err
}
