package task

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/kafka"
)

// Headers of a dead letter that was appended to its source's topic once more (DESIGN §9).
const (
	// HeaderReplay names the origin: topic, partition and offset with slashes between them (Origin.String).
	HeaderReplay = "dlq"
	// HeaderReplayStream names the only stream that takes the record; without it all do.
	HeaderReplayStream = "stream"
)

// Origin is where a record was that has become a dead letter.
type Origin struct {
	Topic     string
	Partition ident.Partition
	Offset    ident.LastOffset
}

// String is the value of HeaderReplay.
func (o Origin) String() string {
	return o.Topic + "/" + strconv.FormatInt(int64(o.Partition), 10) + "/" + strconv.FormatInt(int64(o.Offset), 10)
}

// parseOrigin is the inverse of Origin.String. Other programs may use the header for something else: that is none.
func parseOrigin(text []byte) (o Origin, ok bool) {
	parts := bytes.Split(text, []byte{'/'}) // Kafka's topics have no slash
	if len(parts) != 3 || len(parts[0]) == 0 {
		return Origin{}, false
	}
	partition, err := strconv.ParseUint(string(parts[1]), 10, 31)
	if err != nil {
		return Origin{}, false
	}
	offset, err := strconv.ParseUint(string(parts[2]), 10, 63)
	if err != nil {
		return Origin{}, false
	}
	return Origin{Topic: string(parts[0]), Partition: ident.Partition(partition), Offset: ident.LastOffset(offset)}, true
}

// maxReplays bounds the origins remembered per partition; beyond it the one taken first is forgotten. A replay reaches the
// newest 100,000 dead letters of a source: between the first and a second replay of one, fewer than 200,000 others can
// have been in reach. So none is forgotten that can still come.
const maxReplays = 1 << 18

// replays remembers the origins of a partition whose replay was taken. That it is enough to remember them by partition
// rests on a replay lying in its origin's partition: one that lies elsewhere is not taken.
type replays struct {
	taken map[ident.LastOffset]struct{}
	order []ident.LastOffset // as taken, from oldest on around; see take
	// oldest is the index in order of the one to be forgotten next, once it is full.
	oldest int
}

// verdict says what a task does with a record.
type verdict int

const (
	takeIt verdict = iota
	// passOver is a replay for another stream, or one more of an origin: as if it were not there.
	passOver
	// misplaced is a replay outside of its origin's partition: a dead letter, since nobody can know whether it is the first.
	misplaced
)

// codeMisplaced is the code of a dead letter that is a misplaced replay.
const codeMisplaced = "misplaced_replay"

// judge says whether the partition takes a record of the stream, and remembers a replay that it takes.
func (r *replays) judge(p *SourcePartition, stream string, rec *kafka.Record) verdict {
	value, ok := rec.Header(HeaderReplay)
	if !ok {
		return takeIt
	}
	origin, ok := parseOrigin(value)
	if !ok {
		return takeIt
	}
	if only, ok := rec.Header(HeaderReplayStream); ok && string(only) != stream {
		return passOver
	}
	if origin.Topic != p.Topic || origin.Partition != p.Partition {
		return misplaced
	}
	if _, known := r.taken[origin.Offset]; known {
		return passOver
	}
	r.take(origin.Offset)
	return takeIt
}

func (r *replays) take(o ident.LastOffset) {
	if r.taken == nil {
		r.taken = map[ident.LastOffset]struct{}{}
	}
	r.taken[o] = struct{}{}
	if len(r.order) < maxReplays {
		r.order = append(r.order, o)
		return
	}
	delete(r.taken, r.order[r.oldest])
	r.order[r.oldest] = o
	r.oldest = (r.oldest + 1) % len(r.order)
}

// state lists the origins as they were taken, for the manifest.
func (r *replays) state() []ident.LastOffset {
	return slices.Concat(r.order[r.oldest:], r.order[:r.oldest])
}

// load remembers what a manifest lists.
func (r *replays) load(origins []ident.LastOffset) {
	for _, o := range origins {
		r.take(o)
	}
}
