package plan

// Codes of the faults that this package finds (package problem's catalogue explains them), beside
// those of packages spec, sql and expr that it passes on.
const (
	CodeNotSupportedYet        = "not_supported_yet"
	CodeInvalidSource          = "invalid_source"
	CodeUntyped                = "untyped_expression"
	CodeUngroupedColumn        = "ungrouped_column"
	CodeAggregateWithoutWindow = "aggregate_without_window"
	CodeUnknownAggregate       = "unknown_aggregate"
	CodeDuplicateColumn        = "duplicate_column"
	CodeInvalidColumnName      = "invalid_column_name"
	CodeDuplicateKey           = "duplicate_key"
	CodeNeedsWindow            = "needs_window"
	CodeInvalidWindow          = "invalid_window"
	CodeUnknownTimezone        = "unknown_timezone"
	CodeOutOfRange             = "out_of_range"
)
