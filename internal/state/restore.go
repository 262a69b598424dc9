package state

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/window"
)

// Lost says what becomes of accumulators that a file has and the stream has no more.
type Lost uint8

const (
	LostRefused Lost = iota
	LostDropped      // allow_drop_state
)

// Restore reads a file of the operator into a state; of a chain the newest file first. Batches are decoded into the one that
// next returns.
//
// A file of another form of the stream's query is matched by names: an accumulator that it has not is partial in the windows
// that the file has (window.Partial).
//
// Errors: ErrDamaged, ErrVersion, ErrOperator, with what is wrong; window.ErrPartial; those of the reader.
func Restore(r io.Reader, o manifest.Operator, lost Lost, next func() *block.Batch, into *window.Restoring) error {
	return read(r, func(h Header) error { return match(h, o, lost, into) }, next, into.Take)
}

// Read reads a file of exactly the operator, with its accumulators; take gets each batch, decoded into the one that next
// returns. Errors: ErrDamaged, ErrVersion, ErrOperator, with what is wrong; those of take and of the reader.
func Read(r io.Reader, o manifest.Operator, next func() *block.Batch, take func(*block.Batch) error) error {
	same := func(h Header) error {
		if h.Operator.ID != o.ID || !slices.Equal(h.Operator.Accumulators, o.Accumulators) {
			return fmt.Errorf("%w: it is of %s with %v, the stream has %s with %v", ErrOperator, h.Operator.ID, h.Operator.Accumulators, o.ID, o.Accumulators)
		}
		return nil
	}
	return read(r, same, next, take)
}

func read(r io.Reader, accept func(Header) error, next func() *block.Batch, take func(*block.Batch) error) error {
	in := &reader{r: bufio.NewReader(r)}
	h, err := in.header()
	if err != nil {
		return err
	}
	if err := accept(h); err != nil {
		return err
	}
	decoder := block.NewDecoder()
	var rows, batches uint64
	for {
		payload, err := in.frame()
		if err != nil {
			return err
		}
		if len(payload) == 0 {
			break
		}
		b := next()
		if err := decoder.Decode(payload, b); err != nil {
			return fmt.Errorf("%w: batch %d: %w", ErrDamaged, batches, err)
		}
		if err := take(b); err != nil {
			return fmt.Errorf("batch %d: %w", batches, err)
		}
		rows += uint64(b.Rows())
		batches++
	}
	return in.end(rows, batches)
}

// match tells the state how the file's accumulators are those of the stream.
func match(h Header, o manifest.Operator, lost Lost, into *window.Restoring) error {
	if h.Operator.ID != o.ID {
		return fmt.Errorf("%w: it is of %s, the stream has %s", ErrOperator, h.Operator.ID, o.ID)
	}
	if p := h.Partial; p != nil {
		into.Partial(window.Partial{Aggs: places(p.Accumulators, o.Accumulators), Since: p.Since, Through: p.Through})
	}
	if slices.Equal(h.Operator.Accumulators, o.Accumulators) {
		return nil
	}
	if gone := without(h.Operator.Accumulators, o.Accumulators); len(gone) > 0 && lost == LostRefused {
		return fmt.Errorf("%w: the stream has no %s any more, whose state would be dropped", ErrOperator, strings.Join(gone, ", "))
	}
	here := arguments(o.Accumulators)
	f := window.Foreign{New: places(without(o.Accumulators, h.Operator.Accumulators), o.Accumulators)}
	for _, a := range arguments(h.Operator.Accumulators) {
		f.Args = append(f.Args, slices.Index(here, a)) // -1: none
	}
	into.Foreign(f)
	return nil
}

// arguments are the arguments of accumulators, numbered as a plan numbers them: in the order of their first use.
func arguments(accumulators []string) (args []string) {
	for _, a := range accumulators {
		if _, arg, _ := strings.Cut(a, "("); arg != noArgument && !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	return args
}

// noArgument is what stands behind the bracket of an accumulator over all rows.
const noArgument = "*)"

// places are the places of names in all; those that are not in it have none.
func places(names, all []string) (at []int) {
	for _, n := range names {
		if i := slices.Index(all, n); i >= 0 {
			at = append(at, i)
		}
	}
	return at
}

// without are the names that are not in others.
func without(names, others []string) (left []string) {
	for _, n := range names {
		if !slices.Contains(others, n) {
			left = append(left, n)
		}
	}
	return left
}
