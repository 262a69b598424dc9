package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/agg"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/window"
)

var operator = manifest.Operator{ID: "interval:10s:tbname", Accumulators: []string{"count", "sum(x)", "avg(x)", "min(x)", "max(x)"}}

var keys = block.Schema{{Name: "tbname", Type: block.String}}

// task is a windowed task with its source in front.
type task struct {
	t      testing.TB
	state  *window.State
	source *window.PreAgg
}

func newTask(t testing.TB) *task {
	t.Helper()
	newWindows := func() *window.Windows {
		w, err := window.NewWindows(window.Spec{Size: window.Length{N: 10, Unit: window.UnitSecond}})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	star, _, err := agg.Resolve("count", block.Type{})
	if err != nil {
		t.Fatal(err)
	}
	aggs, args := []agg.Spec{star}, []block.Type{block.Float64}
	for _, name := range []string{"sum", "avg", "min", "max"} {
		s, _, err := agg.Resolve(name, block.Float64)
		if err != nil {
			t.Fatal(err)
		}
		aggs = append(aggs, s)
	}
	return &task{
		t:     t,
		state: window.NewState(window.StateConfig{Windows: newWindows(), Keys: keys, Aggs: aggs, Args: args}),
		source: window.NewPreAgg(window.PreAggConfig{
			Windows: newWindows(), Keys: keys, Aggs: aggs, Args: args, Route: func([]*block.Column, int) ident.VGroup { return 0 },
		}),
	}
}

// feed gives each of the devices a row at a time.
func (k *task) feed(ts int64, devices ...int) {
	k.t.Helper()
	key, x := block.NewColumn(block.String, 0), block.NewColumn(block.Float64, 0)
	rows := window.Rows{Keys: []*block.Column{key}, Args: []*block.Column{x}}
	for i, d := range devices {
		key.AppendString(fmt.Sprintf("device-%06d", d))
		x.AppendFloat(float64(d) / 8)
		rows.Ts, rows.Sel = append(rows.Ts, ts), append(rows.Sel, int32(i))
	}
	k.source.Add(rows)
	k.source.Flush(func(_ ident.VGroup, b *block.Batch) {
		if err := k.state.Merge(b); err != nil {
			k.t.Fatal(err)
		}
	})
}

// closed is what the windows up to the watermark have, as text.
func (k *task) closed(w ident.EventMs) string {
	var rows []string
	k.state.Advance(w, func(e *window.Emission) {
		for i := range e.Batch.Rows() {
			var row []string
			for _, c := range e.Batch.Cols {
				switch c.Type.Kind {
				case block.KindString:
					row = append(row, string(c.Bytes(i)))
				case block.KindFloat64:
					row = append(row, fmt.Sprintf("%x", c.Float[i]))
				default:
					row = append(row, fmt.Sprint(c.Int[i]))
				}
			}
			rows = append(rows, strings.Join(row, " "))
		}
	})
	slices.Sort(rows) // windows of one end come in the order in which their groups entered
	return strings.Join(rows, "\n")
}

func written(t testing.TB, f *window.Frozen) []byte {
	t.Helper()
	var out bytes.Buffer
	rows, err := Write(&out, Header{Operator: operator}, f)
	if err != nil || int(rows) != f.Len() {
		t.Fatalf("%d rows of %d written: %v", rows, f.Len(), err)
	}
	return out.Bytes()
}

// restore reads files, the oldest first, into the task.
func (k *task) restore(w ident.EventMs, files ...[]byte) error {
	r := k.state.Restore(w)
	b := &block.Batch{}
	for i := len(files) - 1; i >= 0; i-- {
		r.NextFile()
		if err := Read(bytes.NewReader(files[i]), operator, func() *block.Batch { return b }, r.Take); err != nil {
			return err
		}
	}
	r.End()
	return nil
}

func upTo(n int) (devices []int) {
	for i := range n {
		devices = append(devices, i)
	}
	return devices
}

func TestAChainIsReadBack(t *testing.T) {
	t.Parallel()
	const many = 20_000 // some batches
	k := newTask(t)
	k.state.Track()
	k.feed(1000, upTo(many)...)
	base := written(t, k.state.FreezeAll())
	k.feed(2000, 5, 7)
	k.feed(12_000, 1)
	delta := written(t, k.state.FreezeTouched())
	if len(delta) > len(base)/100 {
		t.Errorf("a delta of three cells has %d bytes, the base %d", len(delta), len(base))
	}
	nothing := written(t, k.state.FreezeTouched())
	got := newTask(t)
	if err := got.restore(ident.WatermarkNone, base, delta, nothing); err != nil {
		t.Fatal(err)
	}
	if a, b := got.closed(ident.WatermarkEnd), k.closed(ident.WatermarkEnd); a != b {
		t.Error("the restored windows are others")
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.feed(1000, upTo(50)...)
	whole := written(t, k.state.FreezeAll())
	for i := range whole {
		for _, bit := range []byte{1, 128} {
			bad := bytes.Clone(whole)
			bad[i] ^= bit
			if err := newTask(t).restore(0, bad); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if err := newTask(t).restore(0, whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := newTask(t).restore(0, append(bytes.Clone(whole), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte behind it: %v", err)
	}
}

func TestAnotherOperatorIsRefused(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.feed(1000, 1)
	file := written(t, k.state.FreezeAll())
	for _, want := range []manifest.Operator{
		{ID: "interval:20s:tbname", Accumulators: operator.Accumulators},
		{ID: operator.ID, Accumulators: operator.Accumulators[1:]},
	} {
		err := Read(bytes.NewReader(file), want, func() *block.Batch { return &block.Batch{} }, func(*block.Batch) error { return nil })
		if !errors.Is(err, ErrOperator) || !strings.Contains(err.Error(), want.ID) {
			t.Errorf("%v", err)
		}
	}
}

// TestFiftyCheckpointsWriteLittle: on average at most three times what has changed (DESIGN §10), and a restore reads at most
// about twice what there is.
func TestFiftyCheckpointsWriteLittle(t *testing.T) {
	t.Parallel()
	const devices, changes, checkpoints = 20_000, 1_000, 50
	k := newTask(t)
	k.state.Track()
	r := rand.New(rand.NewPCG(1, 2))
	k.feed(1000, upTo(devices)...)
	chain := &Chain{}
	var all [][]byte
	total, changed := 0, 0
	save := func(role manifest.Role, file []byte) {
		if role == manifest.RoleBase {
			all = nil
		}
		all = append(all, file)
		chain.Add(manifest.File{Role: role, Bytes: int64(len(file)), Of: operator.ID})
	}
	save(chain.Next(), written(t, k.state.FreezeAll()))
	base := len(all[0])
	for range checkpoints {
		var some []int
		for range changes {
			some = append(some, r.IntN(devices))
		}
		k.feed(2000, some...)
		touched := k.state.FreezeTouched()
		delta := written(t, touched)
		changed += len(delta)
		file := delta
		role := chain.Next()
		if role == manifest.RoleBase {
			file = written(t, k.state.FreezeAll())
		}
		total += len(file)
		save(role, file)
	}
	if total > 3*changed {
		t.Errorf("%d bytes were written for %d that have changed", total, changed)
	}
	read := 0
	for _, f := range all {
		read += len(f)
	}
	if read > 5*base/2 {
		t.Errorf("a restore reads %d bytes; there are %d", read, base)
	}
	got := newTask(t)
	if err := got.restore(ident.WatermarkNone, all...); err != nil {
		t.Fatal(err)
	}
	if got.closed(ident.WatermarkEnd) != k.closed(ident.WatermarkEnd) {
		t.Error("the restored windows are others")
	}
}

func TestAChainOfAManifestGoesOn(t *testing.T) {
	t.Parallel()
	c := NewChain([]manifest.File{
		{Role: manifest.RoleBase, Bytes: 100, Of: "a"}, {Role: manifest.RoleBase, Bytes: 7, Of: "b"},
		{Role: manifest.RoleDelta, Bytes: 60, Of: "a"}, {Role: manifest.RoleSink, Bytes: 7, Of: "a"},
	}, "a")
	if c.Next() != manifest.RoleDelta || len(c.Files()) != 2 {
		t.Errorf("%s after %v", c.Next(), c.Files())
	}
	c.Add(manifest.File{Role: manifest.RoleDelta, Bytes: 41, Of: "a"})
	if c.Next() != manifest.RoleBase {
		t.Errorf("%s after %v", c.Next(), c.Files())
	}
	c.Add(manifest.File{Role: manifest.RoleBase, Bytes: 100, Of: "a"})
	if c.Next() != manifest.RoleDelta || len(c.Files()) != 1 {
		t.Errorf("%s after %v", c.Next(), c.Files())
	}
}

func FuzzRead(f *testing.F) {
	k := newTask(f)
	k.feed(1000, upTo(20)...)
	f.Add(written(f, k.state.FreezeAll()))
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = newTask(t).restore(0, file) // an error or not, but no panic
	})
}

// BenchmarkRestoreFile reads a million windows back from a file in memory; its goal is below a second (DESIGN §10).
func BenchmarkRestoreFile(b *testing.B) {
	const windows = 1_000_000
	k := newTask(b)
	k.feed(1000, upTo(windows)...)
	file := written(b, k.state.FreezeAll())
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if err := newTask(b).restore(ident.WatermarkNone, file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteFile is the asynchronous part for a million windows, without the disk.
func BenchmarkWriteFile(b *testing.B) {
	const windows = 1_000_000
	k := newTask(b)
	k.feed(1000, upTo(windows)...)
	frozen := k.state.FreezeAll()
	for b.Loop() {
		written(b, frozen)
	}
}
