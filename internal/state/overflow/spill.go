package overflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/window"
)

// Spill implements window.Spill.
type Spill struct {
	fs      vfs.FS
	dir     string
	db      *pebble.DB
	encoder *block.Encoder
	value   []byte
	number  uint64

	unflushed int             // bytes put since the last flush began
	flushed   <-chan struct{} // closed when it has ended; nil: there was none

	broken    chan struct{} // closed with the first failure in the background
	mu        sync.Mutex
	failed    error // that failure
	snapshots map[*snapshot]struct{}
}

var _ window.Spill = (*Spill)(nil)

const (
	// memTableBytes is what Pebble holds in memory before it writes a file, while another one is being written: so twice that is
	// held beside the bound of a state.
	memTableBytes = 4 << 20
	// neverStall keeps Pebble from holding a Put up by itself: it would do so until there is room on the disk, and nobody would
	// be told. Put waits for the last flush instead, or for its failure.
	neverStall = 1 << 20
	// cacheBytes of blocks: what is spilled is read once, from its beginning to its end.
	cacheBytes = 1 << 20
)

// Open opens a spill in the directory, which is made, and emptied: what is there is of another run.
func Open(dir string) (*Spill, error) { return openOn(vfs.Default, dir) }

func openOn(disk vfs.FS, dir string) (*Spill, error) {
	if err := disk.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("empty %s: %w", dir, err)
	}
	s := &Spill{fs: disk, dir: dir, encoder: block.NewEncoder(block.CompressionLZ4), broken: make(chan struct{}), snapshots: map[*snapshot]struct{}{}}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	var err error
	s.db, err = pebble.Open(dir, &pebble.Options{
		FS:    &files{FS: vfs.NewMem(), disk: disk, failing: func() bool { return s.failure() != nil }},
		Cache: cache, MemTableSize: memTableBytes, DisableWAL: true, FormatMajorVersion: pebble.FormatNewest,
		MemTableStopWritesThreshold: neverStall, L0StopWritesThreshold: neverStall, Logger: silent{},
		EventListener: &pebble.EventListener{BackgroundError: s.fail, DataCorruption: func(i pebble.DataCorruptionInfo) { s.fail(i.Details) }},
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, named(err))
	}
	return s, nil
}

// Close closes the spill and deletes it. No snapshot is being read; those that nobody has read are closed.
func (s *Spill) Close() error {
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.snapshots))
	s.mu.Unlock()
	var errs []error
	for _, r := range left {
		errs = append(errs, r.Close())
	}
	return errors.Join(append(errs, s.db.Close(), s.fs.RemoveAll(s.dir))...)
}

func (s *Spill) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = fmt.Errorf("write to %s: %w", s.dir, named(err))
		close(s.broken)
	}
}

func (s *Spill) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

const (
	bucketBytes = 8 + 1                 // pane and bucket
	keyBytes    = bucketBytes + 8       // and number
	markBytes   = 8 + 1                 // epoch and restored
	signBit     = uint64(1) << (64 - 1) // flipped, times before 1970 come first
)

// appendBucket appends what the keys of a bucket begin with. Buckets are below 255: one above the last is the end of a range.
func appendBucket(key []byte, pane ident.EventMs, bucket int) []byte {
	return append(binary.BigEndian.AppendUint64(key, uint64(pane)^signBit), byte(bucket))
}

// Put implements window.Spill.
func (s *Spill) Put(pane ident.EventMs, bucket int, m window.SpillMark, partials *block.Batch) error {
	if err := s.room(); err != nil {
		return err
	}
	s.number++
	key := binary.BigEndian.AppendUint64(appendBucket(make([]byte, 0, keyBytes), pane, bucket), s.number)
	s.value = binary.BigEndian.AppendUint64(s.value[:0], m.Epoch)
	restored := byte(0)
	if m.Restored {
		restored = 1
	}
	var err error
	if s.value, err = s.encoder.Append(append(s.value, restored), partials); err != nil {
		return fmt.Errorf("put into %s: %w", s.dir, err)
	}
	s.unflushed += len(s.value)
	return s.db.Set(key, s.value, pebble.NoSync)
}

// room lets what was put go to the disk when it is enough for a file, and waits while the one before it is being written.
func (s *Spill) room() error {
	if s.unflushed < memTableBytes {
		return s.failure()
	}
	if s.flushed != nil {
		select {
		case <-s.flushed:
		case <-s.broken:
		}
	}
	if err := s.failure(); err != nil {
		return err
	}
	var err error
	if s.flushed, err = s.db.AsyncFlush(); err != nil {
		return fmt.Errorf("write to %s: %w", s.dir, err)
	}
	s.unflushed = 0
	return nil
}

// Drop implements window.Spill.
func (s *Spill) Drop(pane ident.EventMs, bucket int) error {
	if err := s.failure(); err != nil {
		return err
	}
	return s.db.DeleteRange(appendBucket(nil, pane, bucket), appendBucket(nil, pane, bucket+1), pebble.NoSync)
}

// Each implements window.SpillReader.
func (s *Spill) Each(pane ident.EventMs, bucket int, do func(window.SpillMark, *block.Batch) error) error {
	if err := s.failure(); err != nil {
		return err
	}
	return each(s.db, pane, bucket, do)
}

func each(db pebble.Reader, pane ident.EventMs, bucket int, do func(window.SpillMark, *block.Batch) error) (err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: appendBucket(nil, pane, bucket), UpperBound: appendBucket(nil, pane, bucket+1)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	decoder, b := block.NewDecoder(), &block.Batch{}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		m := window.SpillMark{Epoch: binary.BigEndian.Uint64(value), Restored: value[markBytes-1] == 1}
		if err := decoder.Decode(value[markBytes:], b); err != nil {
			return err
		}
		if err := do(m, b); err != nil {
			return err
		}
	}
	return it.Error()
}

// silent is Pebble's logger. What fails in the background comes to BackgroundError; Fatalf is called for broken invariants
// only, and for notes about tables that cannot be written, which lie in memory (files).
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger, which does not expect it to return.
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf("overflow: "+format, args...)) }
