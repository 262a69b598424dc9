package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pondage/pondage/internal/ident"
)

// Code names a kind of failure; it is the code users see.
type Code string

// The named stops: repeating does not cure them. Broker unreachable, broker busy and disk full are the transient ones.
const (
	CodeTopicUnknown       Code = "topic_unknown"          // the topic or partition does not exist
	CodeTopicRecreated     Code = "source_topic_recreated" // the topic's id is not the one the position belongs to
	CodeOffsetsLost        Code = "source_offsets_lost"    // the position lies outside of the log
	CodeNotAuthorized      Code = "not_authorized"         // an ACL or the credentials forbid it
	CodeRecordTooLarge     Code = "record_too_large"       // above the topic's max.message.bytes
	CodeUnsupportedVersion Code = "unsupported_version"    // the broker is too old, or the log has an old format
	CodeCorrupt            Code = "corrupt_batch"          // a batch with a wrong CRC or of impossible shape
	CodeTopicSettings      Code = "topic_settings_differ"  // an existing topic is not as it must be
	CodeTopicExists        Code = "topic_exists"           // creation of a topic that is there
	CodeInvalidRequest     Code = "kafka_request_refused"  // the broker refuses the request for another reason
	CodeUnreachable        Code = "broker_unreachable"     // transient: no connection, or no answer in time
	CodeBrokerBusy         Code = "broker_not_ready"       // transient: leader moving, replicas missing, throttled
	CodeDiskFull           Code = "disk_full"              // transient: the broker cannot write to its disk, most often because it is full
	CodeDiscarded          Code = "message_discarded"      // Queue.Discard ended it
	CodeClosed             Code = "kafka_client_closed"    // this client, fetcher, producer or queue was closed
	CodeFenced             Code = "producer_fenced"        // another holder has taken the transactional id over
	CodeOutcomeUnknown     Code = "commit_outcome_unknown" // nobody knows whether a transaction was committed
)

// Error is a classified Kafka failure. Find it by errors.As, or ask Transient and CodeOf.
type Error struct {
	Code      Code
	Op        string          // what was tried: "fetch", "produce"
	Topic     string          // "" when it concerns no topic
	Partition ident.Partition // −1 when it concerns no partition
	Detail    string          // what a user needs to know beyond the code; may be empty
	Err       error           // the cause; may be nil
}

// NoPartition is the Partition of an Error that concerns none.
const NoPartition ident.Partition = -1

// Error gives operation, place, code, detail and cause.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kafka %s", e.Op)
	if e.Topic != "" {
		fmt.Fprintf(&b, " %s", e.Topic)
		if e.Partition != NoPartition {
			fmt.Fprintf(&b, "/%d", e.Partition)
		}
	}
	fmt.Fprintf(&b, ": %s", e.Code)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Transient tells whether trying again, after a pause and with fresh metadata, may cure the error.
func (e *Error) Transient() bool {
	return e.Code == CodeUnreachable || e.Code == CodeBrokerBusy || e.Code == CodeDiskFull
}

// Transient tells whether trying again may cure err. An error that is not from this package is not transient.
func Transient(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Transient()
}

// CodeOf returns the code of an error of this package, "" for any other.
func CodeOf(err error) Code {
	if err == nil {
		return "" // asked for each message: errors.As would allocate
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// classify makes an *Error of whatever a client or the network returned; an *Error is returned as it is.
func classify(op, topic string, partition ident.Partition, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Code: codeOfCause(err), Op: op, Topic: topic, Partition: partition, Err: err}
}

// codeOfCause is the table of this package's judgement. Unknown errors of a broker are stops: silence would loop.
func codeOfCause(err error) Code {
	var broker *kerr.Error
	if errors.As(err, &broker) {
		return codeOfBroker(broker)
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
		return CodeClosed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed),
		errors.As(err, &netErr):
		return CodeUnreachable
	}
	return CodeInvalidRequest
}

func codeOfBroker(err *kerr.Error) Code {
	switch err {
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID:
		return CodeTopicUnknown
	case kerr.InconsistentTopicID:
		return CodeTopicRecreated
	case kerr.OffsetOutOfRange:
		return CodeOffsetsLost
	case kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.SaslAuthenticationFailed, kerr.IllegalSaslState,
		kerr.UnsupportedSaslMechanism, kerr.PolicyViolation:
		return CodeNotAuthorized
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		return CodeRecordTooLarge
	case kerr.UnsupportedVersion, kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType:
		return CodeUnsupportedVersion
	case kerr.TopicAlreadyExists:
		return CodeTopicExists
	case kerr.RequestTimedOut, kerr.NetworkException:
		return CodeUnreachable
	case kerr.CorruptMessage: // on the way to the broker: the same bytes are sent again
		return CodeBrokerBusy
	case kerr.KafkaStorageError:
		return CodeDiskFull
	case kerr.UnknownServerError: // a fault of the broker, not of the request: some tell a full disk so
		return CodeBrokerBusy
	}
	if err.Retriable || err == kerr.FencedLeaderEpoch {
		return CodeBrokerBusy
	}
	return CodeInvalidRequest
}

// locate says where an error of the decoder was met.
func locate(err error, topic string, partition ident.Partition) error {
	var e *Error
	if !errors.As(err, &e) {
		return classify("decode", topic, partition, err)
	}
	located := *e
	located.Topic, located.Partition = topic, partition
	return &located
}
