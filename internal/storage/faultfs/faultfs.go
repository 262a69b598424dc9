package faultfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
)

// ErrKilled is what every operation says after the kill: nobody is there to hear it.
var ErrKilled = errors.New("the process was killed")

// FS is the file system. New makes one.
type FS struct {
	mu    sync.Mutex
	root  *node
	ops   int
	fail  map[int]error
	hooks map[int]func()
	kill  int // from this operation on; 0: never
	room  int // bytes that may still be written; noBound: any
	moved []move
}

const noBound = -1

// New returns an empty file system.
func New() *FS {
	return &FS{root: directory(), fail: map[int]error{}, hooks: map[int]func(){}, room: noBound}
}

// Ops is how many operations there were.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// FailAt lets one operation fail.
func (f *FS) FailAt(op int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[op] = err
}

// Before has something done ahead of an operation, as by another process between two of its calls of the system.
func (f *FS) Before(op int, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[op] = do
}

// KillAt ends the process at an operation: it and all later ones do nothing.
func (f *FS) KillAt(op int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kill = op
}

// Room bounds what may still be written, in bytes.
func (f *FS) Room(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = bytes
}

// Roomy takes the bound away.
func (f *FS) Roomy() { f.Room(noBound) }

// Flip flips one bit of a file's content: what rots on a disk.
func (f *FS) Flip(name string, bit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(name).data[bit/8] ^= 1 << (bit % 8)
}

// Cut shortens a file's content.
func (f *FS) Cut(name string, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(name)
	n.data, n.synced = n.data[:bytes], min(n.synced, bytes)
}

// Restart is the end of a process and the beginning of the next one: the machine has not noticed.
func (f *FS) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restart()
}

func (f *FS) restart() {
	f.kill, f.fail, f.hooks, f.room = 0, map[int]error{}, map[int]func(){}, noBound
}

// step counts an operation. It is called with the lock held, which a hook gives away meanwhile.
func (f *FS) step() error {
	f.ops++
	if do := f.hooks[f.ops]; do != nil {
		delete(f.hooks, f.ops)
		f.mu.Unlock()
		do()
		f.mu.Lock()
	}
	if f.kill > 0 && f.ops >= f.kill {
		return ErrKilled
	}
	return f.fail[f.ops]
}

// begin is what every operation begins with: it counts, and finds the directory and the last part of the name.
func (f *FS) begin(op, name string) (dir *node, base string, err error) {
	if err := f.step(); err != nil {
		return nil, "", err
	}
	if dir = f.find(filepath.Dir(name)); dir == nil || dir.names == nil {
		return nil, "", failure(op, name, fs.ErrNotExist)
	}
	return dir, filepath.Base(name), nil
}

func failure(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// find returns the node of a path, nil where there is none.
func (f *FS) find(name string) *node {
	at := f.root
	for part := range strings.SplitSeq(filepath.Clean(name), "/") {
		if part == "" || part == "." {
			continue
		}
		if at = at.names[part]; at == nil { // a file has no names
			return nil
		}
	}
	return at
}
