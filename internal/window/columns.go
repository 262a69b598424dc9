package window

import "strconv"

// The columns that PreAgg puts between the group keys and the accumulators of a batch of partials (doc.go).
const (
	ColumnPane = "_pane"
	ColumnFrom = "_from"
)

// AggColumn is the name of the column of aggregate i in an emitted batch. Consumers go by position; the name is for
// messages.
func AggColumn(i int) string { return "_agg" + strconv.Itoa(i) }
