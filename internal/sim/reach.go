package sim

// Reach is a place that seeds are for. A series that never comes to one of them shows nothing about it.
type Reach string

// The places.
const (
	OldStageMessage Reach = "a message of an old stage is dropped"
	OldStageReport  Reach = "a report of an old stage is left out"
	OldTermWrite    Reach = "a transaction of an old term is refused"
	OldTermOrder    Reach = "an order of an old term is refused"
	Adopted         Reach = "a checkpoint completes under another coordinator than it began under"
	Duplicate       Reach = "a message that comes twice is dropped"
	ReadAgain       Reach = "blocks that were skipped behind a closed input are read again"
	TriggerAsked    Reach = "a missing trigger is asked for"
	Idle            Reach = "a source says that it is idle"
	WriteFenced     Reach = "an upsert of an old stage is refused"
	WriteEnded      Reach = "who raises a fence ends the transaction that holds it"
	TakenBack       Reach = "a result of a dead timeline is deleted"
	ImageBack       Reach = "a result that a dead timeline has replaced comes back"
	ProducerFenced  Reach = "the transaction of a fenced producer is aborted"
	MarkerDecides   Reach = "a transaction that ended unclearly is found committed"
	CommittedByNext Reach = "a commit that was open is done by the next stage"
	ManifestFenced  Reach = "a manifest of an old stage is refused"
	OffsetFenced    Reach = "an offset of an old stage is not published"
)

// Reaches lists all.
var Reaches = []Reach{
	OldStageMessage, OldStageReport, OldTermWrite, OldTermOrder, Adopted, Duplicate, ReadAgain, TriggerAsked, Idle, WriteFenced, WriteEnded,
	TakenBack, ImageBack, ProducerFenced, MarkerDecides, CommittedByNext, ManifestFenced, OffsetFenced,
}
