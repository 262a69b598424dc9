package spec

// Window declares how rows are gathered in time (DESIGN §8). Which members a kind takes: validate_window.go.
type Window struct {
	Kind WindowKind `spec:"kind,required"`
	// Interval windows.
	Size      *Duration `spec:"size"`
	Sliding   *Duration `spec:"sliding"`
	Offset    *Duration `spec:"offset"`
	Timezone  string    `spec:"timezone"`
	WeekStart string    `spec:"week_start"`
	// Session windows.
	Gap *Duration `spec:"gap"`
	// State windows: Col is the column (or expression) whose equal values run together.
	Col Expr `spec:"col"`
	// Event windows.
	Start Expr `spec:"start"`
	End   Expr `spec:"end"`
	// Count windows: Count rows a window, a new one every Step rows.
	Count *int64 `spec:"count"`
	Step  *int64 `spec:"step"`
	// TrueFor is the shortest state or event window that is emitted.
	TrueFor *Duration `spec:"true_for"`
}

// WindowKind is the kind of a window.
type WindowKind string

// The window kinds.
const (
	WindowInterval WindowKind = "interval"
	WindowSession  WindowKind = "session"
	WindowState    WindowKind = "state"
	WindowEvent    WindowKind = "event"
	WindowCount    WindowKind = "count"
)

// Weekdays are the values of week_start, Monday first as ISO 8601 counts them.
var Weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// Fill says what stands for an empty fixed window.
type Fill struct {
	Mode   FillMode `spec:"mode,required"`
	Values []Expr   `spec:"values"`
}

// FillMode is the kind of filling.
type FillMode string

// The fill modes.
const (
	FillNull   FillMode = "null"
	FillValue  FillMode = "value"
	FillPrev   FillMode = "prev"
	FillNext   FillMode = "next"
	FillLinear FillMode = "linear"
)
