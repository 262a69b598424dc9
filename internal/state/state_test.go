package state

import (
	"bufio"
	"bytes"
	"encoding/json"
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

var (
	common   = []string{"count(*)", "sum(x)", "avg(x)", "min(x)", "max(x)"}
	operator = operatorOf(common)
	keys     = block.Schema{{Name: "tbname", Type: block.String}}
)

func operatorOf(functions []string) manifest.Operator {
	return manifest.Operator{ID: "interval:10s:tbname", Accumulators: functions}
}

// task is a windowed task with its source in front.
type task struct {
	t         testing.TB
	state     *window.State
	source    *window.PreAgg
	functions []string
	args      []string
}

// newTask is a task of the functions over x and y.
func newTask(t testing.TB, functions ...string) *task {
	t.Helper()
	k := &task{t: t, functions: functions}
	var aggs []agg.Spec
	var types []block.Type
	for _, f := range functions {
		name, arg, _ := strings.Cut(strings.TrimSuffix(f, ")"), "(")
		if arg == "*" {
			aggs = append(aggs, agg.Spec{Kind: agg.KindRows, Arg: -1})
			continue
		}
		s, _, err := agg.Resolve(name, block.Float64)
		if err != nil {
			t.Fatal(err)
		}
		if s.Arg = slices.Index(k.args, arg); s.Arg < 0 {
			s.Arg, k.args, types = len(k.args), append(k.args, arg), append(types, block.Float64)
		}
		aggs = append(aggs, s)
	}
	newWindows := func() *window.Windows {
		w, err := window.NewWindows(window.Spec{Size: window.Length{N: 10, Unit: window.UnitSecond}})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	k.state = window.NewState(window.StateConfig{Windows: newWindows(), Keys: keys, Aggs: aggs, Args: types})
	k.source = window.NewPreAgg(window.PreAggConfig{
		Windows: newWindows(), Keys: keys, Aggs: aggs, Args: types, Route: func([]*block.Column, int) ident.VGroup { return 0 },
	})
	return k
}

// feed gives each of the devices a row at a time: its x is an eighth of its number, its y twice its x.
func (k *task) feed(ts int64, devices ...int) {
	k.t.Helper()
	key := block.NewColumn(block.String, 0)
	rows := window.Rows{Keys: []*block.Column{key}}
	for range k.args {
		rows.Args = append(rows.Args, block.NewColumn(block.Float64, 0))
	}
	for i, d := range devices {
		key.AppendString(fmt.Sprintf("device-%06d", d))
		for a, name := range k.args {
			rows.Args[a].AppendFloat(map[string]float64{"x": float64(d) / 8, "y": float64(d) / 4}[name])
		}
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
				switch {
				case c.IsNull(i):
					row = append(row, "null")
				case c.Type.Kind == block.KindString:
					row = append(row, string(c.Bytes(i)))
				case c.Type.Kind == block.KindFloat64:
					row = append(row, fmt.Sprint(c.Float[i]))
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
	return writtenBy(t, operator, f)
}

func writtenBy(t testing.TB, o manifest.Operator, f *window.Frozen) []byte {
	t.Helper()
	var out bytes.Buffer
	rows, err := Write(&out, Header{Operator: o}, f)
	if err != nil || int(rows) != f.Len() {
		t.Fatalf("%d rows of %d written: %v", rows, f.Len(), err)
	}
	return out.Bytes()
}

// restore reads files, the oldest first, into the task.
func (k *task) restore(w ident.EventMs, files ...[]byte) error {
	return k.restoreWith(w, LostRefused, files...)
}

func (k *task) restoreWith(w ident.EventMs, lost Lost, files ...[]byte) error {
	r := k.state.Restore(w)
	b := &block.Batch{}
	for _, file := range slices.Backward(files) {
		r.NextFile()
		if err := Restore(bytes.NewReader(file), operatorOf(k.functions), lost, func() *block.Batch { return b }, r); err != nil {
			return err
		}
	}
	r.End()
	k.state.Track()
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
	k := newTask(t, common...)
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
	got := newTask(t, common...)
	if err := got.restore(ident.WatermarkNone, base, delta, nothing); err != nil {
		t.Fatal(err)
	}
	if a, b := got.closed(ident.WatermarkEnd), k.closed(ident.WatermarkEnd); a != b {
		t.Error("the restored windows are others")
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	k := newTask(t, common...)
	k.feed(1000, upTo(50)...)
	whole := written(t, k.state.FreezeAll())
	for i := range whole {
		for _, bit := range []byte{1, 128} {
			bad := bytes.Clone(whole)
			bad[i] ^= bit
			if err := newTask(t, common...).restore(0, bad); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if err := newTask(t, common...).restore(0, whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := newTask(t, common...).restore(0, append(bytes.Clone(whole), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte behind it: %v", err)
	}
}

func TestAnotherOperatorIsRefused(t *testing.T) {
	t.Parallel()
	k := newTask(t, common...)
	k.feed(1000, 1)
	file := writtenBy(t, manifest.Operator{ID: "interval:20s:tbname", Accumulators: common}, k.state.FreezeAll())
	if err := newTask(t, common...).restore(0, file); !errors.Is(err, ErrOperator) || !strings.Contains(err.Error(), "interval:20s") {
		t.Errorf("%v", err)
	}
	file = written(t, k.state.FreezeAll())
	for _, want := range []manifest.Operator{operatorOf(common[1:]), {ID: "interval:20s:tbname", Accumulators: common}} {
		err := Read(bytes.NewReader(file), want, func() *block.Batch { return &block.Batch{} }, func(*block.Batch) error { return nil })
		if !errors.Is(err, ErrOperator) {
			t.Errorf("%v", err)
		}
	}
}

// TestTheQueryMayChange: what both forms of the query have goes on; what is new has no value in the windows that were open
// then, also after further checkpoints; what is gone is dropped only by who says so.
func TestTheQueryMayChange(t *testing.T) {
	t.Parallel()
	old := newTask(t, "count(*)", "max(y)", "sum(x)", "count(x)")
	old.feed(1000, 1, 2)
	old.feed(11_000, 2)
	file := writtenBy(t, operatorOf(old.functions), old.state.FreezeAll())

	functions := []string{"sum(x)", "min(x)", "min(z)", "count(*)"}
	if err := newTask(t, functions...).restore(9000, file); !errors.Is(err, ErrOperator) || !strings.Contains(err.Error(), "no max(y), count(x) any more") {
		t.Fatalf("%v", err)
	}
	k := newTask(t, functions...)
	if err := k.restoreWith(9000, LostDropped, file); err != nil {
		t.Fatal(err)
	}
	k.feed(9500, 2, 3)
	again := writtenBy(t, operatorOf(functions), k.state.FreezeTouched())
	k = newTask(t, functions...)
	if err := k.restoreWith(9700, LostDropped, file, again); err != nil {
		t.Fatal(err)
	}
	k.feed(21_000, 2)
	open := k.state.OpenWindows(3)
	for i, w := range open {
		if partial := i < 2; w.Partial != partial || partial && w.PartialSince != 9000 {
			t.Errorf("window %+v", w)
		}
	}
	// device, start, end, rows, then the functions
	want := `device-000001 0 10000 1 0.125 null null 1
device-000002 0 10000 2 0.5 null null 2
device-000002 10000 20000 1 0.25 null null 1
device-000002 20000 30000 1 0.25 0.25 0 1
device-000003 0 10000 1 0.375 null null 1`
	if got := k.closed(ident.WatermarkEnd); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// TestFiftyCheckpointsWriteLittle: on average at most three times what has changed (DESIGN §10), and a restore reads at most
// about twice what there is.
func TestFiftyCheckpointsWriteLittle(t *testing.T) {
	t.Parallel()
	const devices, changes, checkpoints = 20_000, 1_000, 50
	k := newTask(t, common...)
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
	got := newTask(t, common...)
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
	c.Add(manifest.File{Role: manifest.RoleBase, Bytes: 1 << 30, Of: "a"})
	if c.Next() != manifest.RoleDelta || len(c.Files()) != 1 {
		t.Errorf("%s after %v", c.Next(), c.Files())
	}
	for range maxDeltas {
		c.Add(manifest.File{Role: manifest.RoleDelta, Bytes: 1, Of: "a"})
	}
	if c.Next() != manifest.RoleBase {
		t.Errorf("%d files, and no base", len(c.Files()))
	}
}

func FuzzRestore(f *testing.F) {
	k := newTask(f, common...)
	k.feed(1000, upTo(20)...)
	f.Add(written(f, k.state.FreezeAll()))
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = newTask(t, common...).restore(0, file) // an error or not, but no panic
	})
}

// FuzzRestoreFrames gives the frames of a file the right CRCs: what is in them is wrong.
func FuzzRestoreFrames(f *testing.F) {
	k := newTask(f, common...)
	k.feed(1000, upTo(20)...)
	in := &reader{r: bufio.NewReader(bytes.NewReader(written(f, k.state.FreezeAll())))}
	h, err := in.header()
	if err != nil {
		f.Fatal(err)
	}
	head, err := json.Marshal(h)
	if err != nil {
		f.Fatal(err)
	}
	batch, err := in.frame()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head, batch)
	f.Fuzz(func(t *testing.T, head, batch []byte) {
		var file bytes.Buffer
		out := frames{w: bufio.NewWriter(&file)}
		out.printf(magic, version)
		for _, payload := range [][]byte{head, batch, nil} {
			out.frame(payload)
		}
		if err := out.w.Flush(); err != nil {
			t.Fatal(err)
		}
		_ = newTask(t, common...).restore(0, file.Bytes())
	})
}

// BenchmarkRestoreFile reads a million windows back from a file in memory; its goal is below a second (DESIGN §10).
func BenchmarkRestoreFile(b *testing.B) {
	const windows = 1_000_000
	k := newTask(b, common...)
	k.feed(1000, upTo(windows)...)
	file := written(b, k.state.FreezeAll())
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if err := newTask(b, common...).restore(ident.WatermarkNone, file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteFile is the asynchronous part for a million windows, without the disk.
func BenchmarkWriteFile(b *testing.B) {
	const windows = 1_000_000
	k := newTask(b, common...)
	k.feed(1000, upTo(windows)...)
	frozen := k.state.FreezeAll()
	for b.Loop() {
		written(b, frozen)
	}
}
