package control

import (
	"fmt"
	"strings"
)

// Error is an operational error that a user or a node sees. Its code is in the catalogue of package problem, which ties
// it to a status.
type Error struct {
	Code      string
	Message   string // what is wrong, naming the offending thing
	Hint      string // what to do about it; may be empty
	Retryable bool
	Err       error // the cause, for logs; may be nil
}

// Error returns the message with its cause, where the message does not say that already.
func (e *Error) Error() string {
	if e.Err != nil && !strings.Contains(e.Message, e.Err.Error()) {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// The codes that this package gives. Codes are for ever.
const (
	CodeSourceUnknown         = "source_unknown"          // 404
	CodeSourceExists          = "source_exists"           // 409
	CodeSourceInUse           = "source_in_use"           // 409
	CodeStreamUnknown         = "stream_unknown"          // 404
	CodeStreamExists          = "stream_exists"           // 409
	CodeTargetInUse           = "target_in_use"           // 409
	CodeTargetMismatch        = "target_mismatch"         // 409, from the Sinks seam
	CodeTopicUnknown          = "topic_unknown"           // 422, from the Kafka seam
	CodeTopicMismatch         = "topic_settings_differ"   // 409, from the Edges seam
	CodeKafkaUnreachable      = "kafka_unreachable"       // 503, retryable
	CodeSinkUnreachable       = "sink_unreachable"        // 503, retryable
	CodeMetastoreDown         = "metastore_unreachable"   // 503, retryable
	CodeVersionMismatch       = "version_mismatch"        // 412
	CodeNotAllowedInState     = "not_allowed_in_state"    // 409
	CodeBusy                  = "busy"                    // 409, retryable
	CodeRequestInProgress     = "request_in_progress"     // 409, retryable
	CodeIdempotencyReused     = "idempotency_key_reused"  // 422
	CodeBadCursor             = "bad_cursor"              // 400
	CodeBadLimit              = "bad_limit"               // 400
	CodeNotLeader             = "not_leader"              // 503, retryable
	CodeOutcomeUnknown        = "outcome_unknown"         // 503, retryable
	CodeSuperseded            = "superseded"              // 409: another instance of the node is registered
	CodeNodesMissing          = "no_worker"               // readiness
	CodeStreamsWaiting        = "streams_waiting"         // readiness
	CodeOtherCluster          = "other_cluster"           // 409
	CodeMetastoreWentBack     = "metastore_went_back"     // 503
	CodeUnauthenticated       = "unauthenticated"         // 401
	CodeTokenExists           = "token_exists"            // 409
	CodeTokenUnknown          = "token_unknown"           // 404
	CodeBadRole               = "bad_role"                // 400
	CodeNameMismatch          = "name_mismatch"           // 400: the document's name is not the path's
	CodeStartTimeout          = "start_timeout"           // cause of a reset
	CodeNodeRestarted         = "node_restarted"          // cause of a reset
	CodeResetAsked            = "reset_asked"             // cause of a reset
	CodePartitionsAdded       = "partitions_added"        // cause of a reset: the source topic has grown
	CodeTooManyRestarts       = "too_many_restarts"       // cause of a failed stream
	CodeCheckpointUnknown     = "checkpoint_unknown"      // 404
	CodeCheckpointNotComplete = "checkpoint_not_complete" // 409
	CodeSavepointUnknown      = "savepoint_unknown"       // 404
	CodeSavepointExists       = "savepoint_exists"        // 409
	CodeDuplicatesPossible    = "duplicates_possible"     // 409
	CodeStageEnded            = "stage_ended"             // cause of a failed checkpoint
	CodeCheckpointLost        = "checkpoint_lost"         // cause of a failed stream: what it restores cannot be read
	CodePlanInvalid           = "plan_invalid"            // cause of a failed stream: written by another version
)

func errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// hinted returns e with a hint.
func (e *Error) hinted(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// retryable returns e marked as curable by repeating.
func (e *Error) retryable() *Error {
	e.Retryable = true
	return e
}
