package failpoint

// Point is a name: where/what:when, or the name of a misbehaviour. A new one is a constant and a line of the list; a test
// holds both against the calls.
type Point string

// Kind says what a point can do.
type Kind string

// The kinds.
const (
	KindPlace        Kind = "place"        // between two steps: Hit
	KindMisbehaviour Kind = "misbehaviour" // a wrong step: On
)

// Info describes a point.
type Info struct {
	Point Point  `json:"point"`
	Kind  Kind   `json:"kind"`
	Where string `json:"where"` // the package that calls it
	What  string `json:"what"`  // of a place: the state of things there; of a misbehaviour: what is done wrong
}

// The places of the checkpoint store in a directory.
const (
	StorageFileBeforeSync      Point = "storage/file:before-sync"
	StorageFileBeforeRename    Point = "storage/file:before-rename"
	StorageBeforeDirSync       Point = "storage/name:before-dirsync"
	StorageFileDurable         Point = "storage/file:durable"
	StorageManifestBeforeWrite Point = "storage/manifest:before-write"
	StorageManifestDurable     Point = "storage/manifest:durable"
	StorageFenceBeforeRename   Point = "storage/fence:before-rename"
	StorageRetainDecided       Point = "storage/retain:decided"
	StorageRetainManifestsGone Point = "storage/retain:manifests-gone"
)

// The places of a Postgres output.
const (
	SinkFenceRaised         Point = "sink/fence:raised"
	SinkRestoreBeforeCommit Point = "sink/restore:before-commit"
	SinkUpsertBeforeCommit  Point = "sink/upsert:before-commit"
	SinkUpsertCommitted     Point = "sink/upsert:committed"
	SinkStageBeforeCommit   Point = "sink/stage:before-commit"
	SinkStageCommitted      Point = "sink/stage:committed"
	SinkPublishBeforeCommit Point = "sink/publish:before-commit"
	SinkPublishCommitted    Point = "sink/publish:committed"
)

// The places of a transactional Kafka output.
const (
	SinkIntervalBeforeWrite Point = "sink/interval:before-write"
	SinkCommitBeforeBegin   Point = "sink/commit:before-begin"
	SinkCommitBeforeMarker  Point = "sink/commit:before-marker"
	SinkCommitBeforeEnd     Point = "sink/commit:before-end"
	SinkCommitEnded         Point = "sink/commit:ended"
)

// The places of the data plane, and of a task's part of a checkpoint.
const (
	EdgeBeforeAppend       Point = "dispatch/send:before-append"
	EdgeAppended           Point = "dispatch/send:acknowledged"
	EdgeBeforeMerge        Point = "dispatch/receive:before-merge"
	EdgeMerged             Point = "dispatch/receive:merged"
	CreditBeforeTell       Point = "dispatch/credit:before-tell"
	CheckpointFrozen       Point = "checkpoint/part:frozen"
	CheckpointForwarded    Point = "checkpoint/trigger:forwarded"
	OrderTaken             Point = "orders/stage:taken"
	RestoreDone            Point = "checkpoint/restore:done"
	ReportBeforeSend       Point = "checkpoint/report:before-send"
	CheckpointBeforeCommit Point = "checkpoint/commit:before"
	CheckpointCommitted    Point = "checkpoint/commit:done"
)

// The places of the coordinator.
const (
	ControlBegun          Point = "control/checkpoint:begun"
	ControlBeforeComplete Point = "control/checkpoint:before-complete"
	ControlCompleted      Point = "control/checkpoint:completed"
	ControlReset          Point = "control/reset:written"
	ControlPlaced         Point = "control/stage:placed"
)

// The misbehaviours: each breaks one promise, so that a simulation or a chaos run must report it.
const (
	DropOneBlock     Point = "drop-one-block"
	DupOneBlock      Point = "dup-one-block"
	SkipFence        Point = "skip-fence"
	CommitEarly      Point = "commit-early"
	ReuseStage       Point = "reuse-stage"
	ReuseMsgID       Point = "reuse-msg-id"
	LateComplete     Point = "late-complete"
	NoFenceLock      Point = "no-fence-lock"
	RestartSameStage Point = "restart-same-stage"
)

var points = []Info{
	{StorageFileBeforeSync, KindPlace, "internal/storage/dirstore", "a checkpoint file is written, nothing of it is durable"},
	{StorageFileBeforeRename, KindPlace, "internal/storage/dirstore", "a checkpoint file is durable under its temporary name"},
	{StorageBeforeDirSync, KindPlace, "internal/storage/dirstore", "a file, manifest or stage has its name, which a crash may lose"},
	{StorageFileDurable, KindPlace, "internal/storage/dirstore", "a checkpoint file is durable, no manifest names it"},
	{StorageManifestBeforeWrite, KindPlace, "internal/storage/dirstore", "all files of a manifest are durable, it is not written"},
	{StorageManifestDurable, KindPlace, "internal/storage/dirstore", "a manifest is durable, nobody has been told"},
	{StorageFenceBeforeRename, KindPlace, "internal/storage/dirstore", "a stage is about to be noted"},
	{StorageRetainDecided, KindPlace, "internal/storage/dirstore", "the cleaner has decided what goes"},
	{StorageRetainManifestsGone, KindPlace, "internal/storage/dirstore", "the cleaner has deleted a task's manifests, not yet their files"},

	{SinkFenceRaised, KindPlace, "internal/pgtable", "a sink's fence is raised, nothing of the older stage is taken back"},
	{SinkRestoreBeforeCommit, KindPlace, "internal/pgtable", "what a dead timeline has written is taken back, not committed"},
	{SinkUpsertBeforeCommit, KindPlace, "internal/pgtable", "results are upserted, not committed"},
	{SinkUpsertCommitted, KindPlace, "internal/pgtable", "results are upserted, the sink does not know it"},
	{SinkStageBeforeCommit, KindPlace, "internal/pgtable", "results are staged, not committed"},
	{SinkStageCommitted, KindPlace, "internal/pgtable", "results are staged, the sink does not know it"},
	{SinkIntervalBeforeWrite, KindPlace, "services/worker/internal/sink", "results of an interval are to be made a file"},
	{SinkCommitBeforeBegin, KindPlace, "services/worker/internal/sink", "a checkpoint is complete, its Kafka transaction not begun"},
	{SinkCommitBeforeMarker, KindPlace, "services/worker/internal/sink", "the results are in the transaction, the marker is not"},
	{SinkCommitBeforeEnd, KindPlace, "services/worker/internal/sink", "all is in the transaction, which is not ended"},
	{SinkCommitEnded, KindPlace, "services/worker/internal/sink", "the transaction is committed, nobody knows yet"},
	{SinkPublishBeforeCommit, KindPlace, "internal/pgtable", "the results of a complete checkpoint are moved into the table, not committed"},
	{SinkPublishCommitted, KindPlace, "internal/pgtable", "a complete checkpoint is published, the sink does not know it"},

	{EdgeBeforeAppend, KindPlace, "services/worker/internal/task", "the messages of a request have their numbers, no broker has them"},
	{EdgeAppended, KindPlace, "services/worker/internal/task", "a broker has answered for a message, its task has not heard"},
	{EdgeBeforeMerge, KindPlace, "services/worker/internal/task", "a message of an edge has passed the rules, nothing of it is merged"},
	{EdgeMerged, KindPlace, "services/worker/internal/task", "a message of an edge is merged, and not told as consumed"},
	{CreditBeforeTell, KindPlace, "services/worker/internal/exchange", "a node is about to tell another one what is consumed; an error fails the call"},
	{CheckpointFrozen, KindPlace, "services/worker/internal/task", "a task's state is frozen, its trigger not sent on"},
	{CheckpointForwarded, KindPlace, "services/worker/internal/task", "a task's trigger is on its way, nothing of its part is written"},
	{OrderTaken, KindPlace, "services/worker/internal/stage", "a node has an order to begin a stage, nothing of the stage is there; an error fails its tasks"},
	{RestoreDone, KindPlace, "services/worker/internal/task", "a task has restored its windows, its upstreams do not know it"},
	{ReportBeforeSend, KindPlace, "services/worker/internal/checkpointing", "parts of checkpoints are durable, the coordinator does not know it; an error loses the reports, which are repeated"},
	{CheckpointBeforeCommit, KindPlace, "services/worker/internal/task", "a task knows that a checkpoint is complete, none of its sinks has committed it"},
	{CheckpointCommitted, KindPlace, "services/worker/internal/task", "the sinks of a task have committed a checkpoint, nobody knows it"},

	{ControlBegun, KindPlace, "services/coordinator/internal/control", "the row of a checkpoint says that it runs, no task has been asked"},
	{ControlBeforeComplete, KindPlace, "services/coordinator/internal/control", "every task has reported its part, the row does not say complete"},
	{ControlCompleted, KindPlace, "services/coordinator/internal/control", "the row of a checkpoint says complete, no task has been told"},
	{ControlReset, KindPlace, "services/coordinator/internal/control", "the row of a stream says that its stage is over, nothing is placed"},
	{ControlPlaced, KindPlace, "services/coordinator/internal/control", "a stage is raised and placed, no node has been told"},

	{DropOneBlock, KindMisbehaviour, "services/worker/internal/task", "a block of a flush is left out as if it had been sent"},
	{DupOneBlock, KindMisbehaviour, "services/worker/internal/task", "a block of a flush is sent a second time under a msg id of its own"},
	{SkipFence, KindMisbehaviour, "internal/pgtable", "a sink writes whatever stage its fence has"},
	{CommitEarly, KindMisbehaviour, "services/worker/internal/sink", "a sink commits when it has prepared, before the checkpoint is complete"},
	{ReuseStage, KindMisbehaviour, "services/coordinator/internal/store", "a reset places tasks anew in the stage that they had"},
	{ReuseMsgID, KindMisbehaviour, "services/worker/internal/task", "a msg id is given to a second block, and the later ones follow on from it"},
	{LateComplete, KindMisbehaviour, "services/coordinator/internal/store", "a reset leaves a checkpoint running, which is set complete afterwards; to be switched with @1+"},
	{NoFenceLock, KindMisbehaviour, "internal/pgtable", "a sink asks for its stage without holding the row"},
	{RestartSameStage, KindMisbehaviour, "services/worker/internal/node", "a task is started a second time in one stage"},
}

// Points lists all points, the places first.
func Points() []Info { return append([]Info(nil), points...) }

// find returns what is known of a point.
func find(p Point) (Info, bool) {
	for _, i := range points {
		if i.Point == p {
			return i, true
		}
	}
	return Info{}, false
}
