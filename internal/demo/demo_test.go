package demo_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	_ "time/tzdata"

	"github.com/pondage/pondage/internal/demo"
)

// buffer is written by the command and read by the test.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   func(text string) // told after each write
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.text.Write(p)
	if b.on != nil {
		b.on(b.text.String())
	}
	return n, err
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run runs the command in a place for temporary files of its own, from another directory, and checks that nothing stays.
func run(t *testing.T, ctx context.Context, out, progress *buffer, args ...string) error {
	t.Helper()
	temp := t.TempDir()
	const passable = 0o711 // for a Postgres that runs as another user
	for dir := temp; dir != filepath.Dir(os.TempDir()) && dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, passable); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	t.Chdir(t.TempDir())
	cmd := demo.Command()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(progress)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(ctx)
	left, readErr := os.ReadDir(temp)
	if readErr != nil || len(left) > 0 {
		t.Errorf("%d entries are left, %v", len(left), readErr)
	}
	return err
}

// TestDemo is the main job: every stream ends with its closing line, and without a difference. With --keep the stack is then
// up until it is interrupted, and the command says how to look at it.
func TestDemo(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &buffer{on: func(text string) {
		if strings.Contains(text, "pondage tail flights_1h\n") { // the last of what it says
			interrupt()
		}
	}}
	if err := run(t, ctx, out, &buffer{}, "--keep"); err != nil {
		t.Fatal(err)
	}
	const closing = `
demo: flights_1h 28373 windows equal, 0 different
demo: flights_1d_ny 2828 windows equal, 0 different
demo: flights_6h 51468 windows equal, 0 different
demo: flights_delayed 3167 windows equal, 0 different
`
	for _, want := range []string{closing, "curl ", "psql ", "/docs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestInterruptedDemoLeavesNothing: it is no success, and its stack and directory are gone.
func TestInterruptedDemoLeavesNothing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	progress := &buffer{on: func(text string) {
		if strings.Contains(text, "created stream") {
			interrupt()
		}
	}}
	if err := run(t, ctx, &buffer{}, progress); err == nil {
		t.Error("an interrupted demo is no success")
	}
}
