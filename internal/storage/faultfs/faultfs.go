// Package faultfs is a file system in memory that fails as disks and kernels do: it can be full, an operation can fail,
// the process can be killed at any operation, and a crash loses what was not synced, or half of it.
//
// It owns: what a crash may leave. It does not own: anything that is not a test.
//
// The model is that of a journalling file system at its worst. The content of a file is durable as of its last
// successful Sync; a crash leaves that, or any longer beginning of what was written. An entry of a directory is durable as
// of the last SyncDir; of the later changes a crash may keep any. After a Sync that failed, the file's content is
// never durable, whatever later Syncs say: the kernel has dropped the pages and told once.
package faultfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pondage/pondage/internal/storage/vfs"
)

// ErrKilled is what every operation says after the kill: nobody is there to hear it.
var ErrKilled = errors.New("the process was killed")

// FS is the file system. The zero value is not usable; see New.
type FS struct {
	mu    sync.Mutex
	root  *node
	clock time.Time
	ops   int
	fail  map[int]error
	hooks map[int]func()
	kill  int // from this operation on; 0: never
	room  int // bytes that may still be written; −1: any
	moved []move
}

// move is a rename of this life. A journal makes it whole or not at all: a crash never leaves neither name.
type move struct {
	node *node
	from *node // directory
	name string
}

// node is a file or a directory.
type node struct {
	entries, durable map[string]*node // of a directory; nil for a file
	data             []byte
	synced           int // bytes of data that are durable
	poisoned         bool
	removed          bool // by Remove: a crash may leave it, or not
	changed          time.Time
}

func directory() *node { return &node{entries: map[string]*node{}, durable: map[string]*node{}} }

// New returns an empty file system.
func New() *FS {
	return &FS{root: directory(), clock: time.Unix(1_000_000, 0), fail: map[int]error{}, room: -1}
}

// Ops is how many operations there were.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// FailAt lets one operation fail, counted from 1.
func (f *FS) FailAt(op int, err error) { f.fail[op] = err }

// Before has something done ahead of an operation, as by another process between two of its system calls.
func (f *FS) Before(op int, do func()) { f.hooks = map[int]func(){op: do} }

// KillAt ends the process at an operation: it and all later ones do nothing.
func (f *FS) KillAt(op int) { f.kill = op }

// Room bounds what may still be written, in bytes; −1 takes the bound away.
func (f *FS) Room(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = bytes
}

// Pass lets time go by.
func (f *FS) Pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(d)
}

// Crash is the machine's: what was not durable is lost or not, by chance. Then the file system goes on, without faults.
func (f *FS) Crash(r *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := map[move]bool{}
	for _, m := range f.moved {
		before[m] = m.from.durable[m.name] == m.node
	}
	f.root.crash(r)
	for _, m := range f.moved {
		if before[m] && !m.node.removed && !f.root.holds(m.node) {
			m.from.entries[m.name], m.from.durable[m.name] = m.node, m.node
			m.node.crash(r)
		}
	}
	f.kill, f.fail, f.room, f.moved = 0, map[int]error{}, -1, nil
}

func (n *node) holds(other *node) bool {
	for _, below := range n.entries {
		if below == other || below.holds(other) {
			return true
		}
	}
	return false
}

func (n *node) crash(r *rand.Rand) {
	if n.entries == nil {
		keep := n.synced
		if extra := len(n.data) - n.synced; extra > 0 && !n.poisoned {
			keep += r.IntN(extra + 1)
		}
		n.data, n.synced, n.poisoned = n.data[:keep], keep, false
		return
	}
	names := map[string]bool{}
	for _, m := range []map[string]*node{n.entries, n.durable} {
		for name := range m {
			names[name] = true
		}
	}
	left := map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		now, before := n.entries[name], n.durable[name]
		if now != before && r.IntN(2) == 0 {
			now = before
		}
		if now != nil {
			left[name] = now
		}
	}
	n.entries, n.durable = left, maps.Clone(left)
	for _, name := range slices.Sorted(maps.Keys(left)) {
		left[name].crash(r)
	}
}

// step counts an operation.
func (f *FS) step() error {
	f.ops++
	if do := f.hooks[f.ops]; do != nil {
		f.hooks = nil
		f.mu.Unlock()
		do()
		f.mu.Lock()
	}
	if f.kill > 0 && f.ops >= f.kill {
		return ErrKilled
	}
	return f.fail[f.ops]
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// find returns the node of a path, nil where there is none.
func (f *FS) find(name string) *node {
	at := f.root
	for part := range strings.SplitSeq(strings.Trim(filepath.Clean(name), "/"), "/") {
		if part == "" || part == "." {
			continue
		}
		if at.entries == nil || at.entries[part] == nil {
			return nil
		}
		at = at.entries[part]
	}
	return at
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find(dir) != nil {
		return nil
	}
	if err := f.step(); err != nil {
		return err
	}
	at := f.root
	for part := range strings.SplitSeq(strings.Trim(filepath.Clean(dir), "/"), "/") {
		if at.entries[part] == nil {
			at.entries[part] = directory()
		}
		at.durable[part] = at.entries[part]
		at = at.entries[part]
	}
	return nil
}

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return nil, err
	}
	dir, base := f.find(filepath.Dir(name)), filepath.Base(name)
	if dir == nil {
		return nil, notExist("create", name)
	}
	if dir.entries[base] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &node{changed: f.clock}
	dir.entries[base] = n
	return &file{fs: f, node: n}, nil
}

type file struct {
	fs   *FS
	node *node
}

// Write implements io.Writer. A full disk takes what fits.
func (h *file) Write(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step(); err != nil {
		return 0, err
	}
	n := len(p)
	if h.fs.room >= 0 {
		n = min(n, h.fs.room)
		h.fs.room -= n
	}
	h.node.data, h.node.changed = append(h.node.data, p[:n]...), h.fs.clock
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// Sync implements vfs.File.
func (h *file) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.step(); err != nil {
		h.node.poisoned = true
		return err
	}
	if !h.node.poisoned {
		h.node.synced = len(h.node.data)
	}
	return nil
}

// Close implements io.Closer.
func (h *file) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.fs.step()
}

type reader struct{ *bytes.Reader }

// Close implements io.Closer.
func (reader) Close() error { return nil }

// Open implements vfs.FS.
func (f *FS) Open(name string) (io.ReadSeekCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil || n.entries != nil {
		return nil, notExist("open", name)
	}
	return reader{bytes.NewReader(slices.Clone(n.data))}, nil
}

// Flip flips one bit of a file: what rots on a disk.
func (f *FS) Flip(name string, bit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(name).data[bit/8] ^= 1 << (bit % 8)
}

// Rename implements vfs.FS.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return err
	}
	source, target := f.find(filepath.Dir(from)), f.find(filepath.Dir(to))
	if source == nil || source.entries[filepath.Base(from)] == nil {
		return notExist("rename", from)
	}
	if target == nil {
		return notExist("rename", to)
	}
	n := source.entries[filepath.Base(from)]
	f.moved = append(f.moved, move{node: n, from: source, name: filepath.Base(from)})
	target.entries[filepath.Base(to)] = n
	delete(source.entries, filepath.Base(from))
	return nil
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return err
	}
	dir := f.find(filepath.Dir(name))
	if dir == nil || dir.entries[filepath.Base(name)] == nil {
		return notExist("remove", name)
	}
	dir.entries[filepath.Base(name)].removed = true
	delete(dir.entries, filepath.Base(name))
	return nil
}

// RemoveAll implements vfs.FS.
func (f *FS) RemoveAll(name string) error {
	if err := f.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements vfs.FS.
func (f *FS) List(dir string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return nil, err
	}
	n := f.find(dir)
	if n == nil {
		return nil, notExist("list", dir)
	}
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Changed implements vfs.FS.
func (f *FS) Changed(name string) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return time.Time{}, err
	}
	n := f.find(name)
	if n == nil {
		return time.Time{}, notExist("stat", name)
	}
	return n.changed, nil
}

// Touch implements vfs.FS.
func (f *FS) Touch(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return err
	}
	n := f.find(name)
	if n == nil {
		return notExist("touch", name)
	}
	n.changed = f.clock
	return nil
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return err
	}
	n := f.find(dir)
	if n == nil {
		return notExist("sync", dir)
	}
	n.durable = maps.Clone(n.entries)
	return nil
}
