package agg

// CodeOverflow is the code of a result that does not fit its type.
const CodeOverflow = "numeric_overflow"

// ResultError is a result that has no value. It is an error of the data of one group and window.
type ResultError struct {
	Row    int32 // in the batch of results
	Agg    int   // index of the aggregate
	Code   string
	Reason string
}
