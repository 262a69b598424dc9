package telemetry

import "go.opentelemetry.io/otel/attribute"

// Attributes of spans around Kafka, by the semantic conventions of messaging. They are written out because the
// convention's Go package changes its path with every version.
const (
	MessagingSystem          = attribute.Key("messaging.system")           // SystemKafka
	MessagingOperationName   = attribute.Key("messaging.operation.name")   // send, poll, process
	MessagingOperationType   = attribute.Key("messaging.operation.type")   // send, receive, process
	MessagingDestination     = attribute.Key("messaging.destination.name") // the topic
	MessagingPartition       = attribute.Key("messaging.destination.partition.id")
	MessagingKafkaOffset     = attribute.Key("messaging.kafka.offset")
	MessagingBatchCount      = attribute.Key("messaging.batch.message_count")
	MessagingMessageBodySize = attribute.Key("messaging.message.body.size") // By
)

// SystemKafka is the value of MessagingSystem.
const SystemKafka = "kafka"

// Attributes of our own, on spans and metrics. On metrics only those with few values: stream, level, vgroup, phase,
// outcome. Task names, msg ids and offsets are for spans.
const (
	Stream  = attribute.Key("pondage.stream")
	Source  = attribute.Key("pondage.source")
	Level   = attribute.Key("pondage.level")
	VGroup  = attribute.Key("pondage.vgroup")
	Stage   = attribute.Key("pondage.stage")
	Task    = attribute.Key("pondage.task")
	MsgID   = attribute.Key("pondage.msg_id")
	Outcome = attribute.Key("pondage.outcome")
	Phase   = attribute.Key("pondage.phase")
)
