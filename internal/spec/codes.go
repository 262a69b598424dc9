package spec

// Codes of the faults that this package finds (package problem's catalogue explains them).
const (
	CodeMalformed       = "malformed_document" // not JSON, not YAML, or no object
	CodeDuplicateMember = "duplicate_member"
	CodeUnknownMember   = "unknown_member"
	CodeMissingMember   = "missing_member"
	CodeWrongType       = "wrong_member_type" // a list where a string is wanted
	CodeInvalidValue    = "invalid_value"
	CodeInvalidName     = "invalid_name"
	CodeSecretInSpec    = "secret_in_spec" // a literal where a reference to a secret is wanted
	CodeConflict        = "conflicting_members"
	CodeDuplicateName   = "duplicate_name"
)
