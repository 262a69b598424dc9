package plan

import (
	"fmt"
	"time"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/expr"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/internal/tablehash"
	"github.com/pondage/pondage/internal/window"
)

// Env is what a plan depends on beside the specs. It is the same on all nodes of a cluster.
type Env struct {
	Cluster ident.Cluster
	VGroups int
	// Zone finds a time zone by its IANA name; time.LoadLocation in production (the binary carries the zone rules). It
	// is handed in because it reads files.
	Zone func(name string) (*time.Location, error)
}

// zone finds a time zone. "Local" and "" are names of the host's zone and of UTC to time.LoadLocation: no zone of ours
// depends on the host.
func (e Env) zone(name string) (*time.Location, error) {
	if e.Zone == nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	zone, err := e.Zone(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return zone, nil
}

// Plan is a stream, understood. It is immutable.
type Plan struct {
	Env    Env
	Source *spec.Source
	Stream *spec.Stream
	Input  *Input

	// Where is over the source scope, of type bool; nil: every row.
	Where *expr.Typed
	Keys  []Key
	// Subtable is over the group keys (KeySchema), of type string; nil: the name follows the rule of DESIGN §3.
	Subtable *expr.Typed
	// ByTable tells whether the group key is tbname alone: then it is the subtable name as well.
	ByTable bool
	Affix   tablehash.Affix

	// Window is nil for a stream without window; Aggs and Args are then empty.
	Window *window.Spec
	Aggs   []agg.Spec
	// Args are the distinct arguments of the aggregates, over the source scope.
	Args []*expr.Typed

	// Select computes the result columns, in the order of Result.Columns: over the source scope (Input.Schema) without
	// window, else over StateSchema.
	Select []*expr.Typed
	Result ResultSchema

	Trigger  spec.TriggerKind
	Start    spec.Position
	Until    *spec.Position // nil: runs for ever
	Settings Settings
	Webhook  *Webhook // nil: none

	zone     *time.Location
	argNames []string // the canonical text of Args
}

// Key is a group key.
type Key struct {
	Text string // as declared: its name in the result unless it is selected under an alias
	Expr *expr.Typed
}

// Windowed tells whether the stream has a window.
func (p *Plan) Windowed() bool { return p.Window != nil }

// Partitioned tells whether the stream has a PARTITION BY.
func (p *Plan) Partitioned() bool { return len(p.Keys) > 0 }

// KeySchema is the group keys as columns of partials and of the aggregating state. Their names are positions: the text
// of a key could be that of another column of a partial.
func (p *Plan) KeySchema() block.Schema {
	s := make(block.Schema, len(p.Keys))
	for i, k := range p.Keys {
		s[i] = block.Field{Name: keyColumn(i), Type: k.Expr.Type()}
	}
	return s
}

// ArgTypes are the types of Args, as package window takes them.
func (p *Plan) ArgTypes() []block.Type {
	types := make([]block.Type, len(p.Args))
	for i, a := range p.Args {
		types[i] = a.Type()
	}
	return types
}

// Settings are the numbers of a stream, with defaults filled in.
type Settings struct {
	Watermark time.Duration
	Lateness  Lateness
	LateBy    spec.LateBy
	TableTTL  time.Duration
	// IdleTimeout is at least Watermark + minIdleBeyondDelay (DESIGN §6).
	IdleTimeout time.Duration
	// CloseIdleAfter is 0 when windows do not close without new data.
	CloseIdleAfter time.Duration

	MaxGroups        int64
	MaxDispatchBatch int64 // bytes
	EdgeKeep         time.Duration
	// Retain is how long the stream's own result table keeps rows; 0: there is none.
	Retain time.Duration

	CheckpointInterval   time.Duration
	CheckpointTimeout    time.Duration
	RetainCheckpoints    int64
	MaxFailedCheckpoints int64
	MaxRestarts          int64
	StartTimeout         time.Duration
}

// Lateness is how long after its close a window takes rows.
type Lateness struct {
	Unbounded bool
	For       time.Duration // 0 when Unbounded
}
