package vectors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/rowjson"
)

// table is the sink in virtual time: the last row of each natural key.
type table struct {
	encoder *rowjson.Encoder
	key     []int
	byKey   map[string][]byte
}

func newTable(p *plan.Plan) *table {
	return &table{encoder: rowjson.NewEncoder(p.Result.Fields()), key: p.Result.Key, byKey: map[string][]byte{}}
}

// Rows implements pipeline.Results.
func (t *table) Rows(b *block.Batch) error {
	for i := range b.Rows() {
		t.byKey[string(t.encoder.AppendKey(nil, b.Cols, t.key, i))] = t.encoder.AppendRow(nil, b.Cols, i)
	}
	return nil
}

// Reject implements pipeline.Results: no case has a window without a value.
func (t *table) Reject(row []byte, code, reason string) error {
	return fmt.Errorf("window %s has no value: %s %s", row, code, reason)
}

func (t *table) rows() [][]byte {
	var rows [][]byte
	for _, key := range slices.Sorted(maps.Keys(t.byKey)) {
		rows = append(rows, t.byKey[key])
	}
	return rows
}
