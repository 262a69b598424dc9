package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/rowjson"
)

// Form writes the events of a stream. It belongs to one goroutine.
type Form struct {
	stream string // what ids begin with
	key    int    // columns of the natural key
	keys   []int  // 0, 1, …
	names  *rowjson.Encoder
	text   []byte
}

// NewForm returns the form of a stream's events. schema is the columns of their batches (pipeline.EventSchema), of which the
// first key ones are the natural key: group keys, then the window's start.
func NewForm(cluster ident.Cluster, stream ident.StreamID, schema block.Schema, key int) *Form {
	f := &Form{stream: fmt.Sprintf("%s/%d/", cluster, stream), key: key, names: rowjson.NewEncoder(schema[:key])}
	for i := range key {
		f.keys = append(f.keys, i)
	}
	return f
}

// idBytes is how much of the hash an id has: enough for no two events to share one.
const idBytes = 16

// Append appends event i of a batch.
func (f *Form) Append(dst []byte, b *block.Batch, i int) []byte {
	start, end, kind, row := b.Cols[f.key-1], b.Cols[f.key], b.Cols[f.key+1], b.Cols[f.key+2]
	dst = append(append(dst, `{"id":"`...), f.ID(b, i)...)
	dst = append(append(dst, `","event":"`...), kind.Bytes(i)...)
	dst = f.names.AppendRow(append(dst, `","key":`...), b.Cols[:f.key], i)
	dst = rowjson.AppendTime(append(dst, `,"window_start":`...), start.Int[i])
	dst = rowjson.AppendTime(append(dst, `,"window_end":`...), end.Int[i])
	dst = append(dst, `,"row":`...)
	if row.IsNull(i) {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, row.Bytes(i)...)
	}
	return append(dst, '}')
}

// ID is the stable id of event i of a batch: that of the stream, the natural key and the event.
func (f *Form) ID(b *block.Batch, i int) string {
	f.text = append(f.text[:0], f.stream...)
	f.text = append(append(f.text, b.Cols[f.key+1].Bytes(i)...), '/')
	f.text = f.names.AppendKey(f.text, b.Cols[:f.key], f.keys, i)
	sum := sha256.Sum256(f.text)
	return hex.EncodeToString(sum[:idBytes])
}
