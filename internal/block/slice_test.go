package block_test

import (
	"testing"

	"github.com/pondage/pondage/internal/block"
)

func TestASliceIsACopyOfItsRows(t *testing.T) {
	t.Parallel()
	const rows, from, to = 10, 3, 8
	b := sample(rows, 3)
	s := b.Slice(from, to)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	want := block.NewBatch(b.Schema, 0)
	for c, col := range b.Cols {
		for i := from; i < to; i++ {
			want.Cols[c].AppendFrom(col, i)
		}
	}
	got := render(s)
	if got != render(want) {
		t.Errorf("rows %d to %d of\n%s\nare\n%s", from, to, render(b), got)
	}
	b.Reset()
	for _, col := range b.Cols { // writes into the memory of the rows that were
		for range rows {
			col.AppendNull()
		}
	}
	if render(s) != got {
		t.Error("what is written to the batch afterwards shows in the slice")
	}
	if n := sample(rows, 3).Slice(4, 4).Rows(); n != 0 {
		t.Errorf("an empty range has %d rows", n)
	}
}
