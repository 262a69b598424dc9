package dirstore

import (
	"io"
	"testing"

	"github.com/pondage/pondage/internal/manifest"
	"github.com/pondage/pondage/internal/storage/storagetest"
)

const benchBytes = 64 << 20 // about the state of a million windows

// BenchmarkFile writes a file durably, in parts as state does, and reads it back.
func BenchmarkFile(b *testing.B) {
	s, err := Open(b.TempDir())
	must(b, err)
	part := make([]byte, 1<<20)
	var f manifest.File
	write := func(b *testing.B) {
		w, err := s.Create(b.Context(), stream, task, 1)
		must(b, err)
		for range benchBytes / len(part) {
			_, err := w.Write(part)
			must(b, err)
		}
		f, err = w.Commit()
		must(b, err)
	}
	b.Run("write", func(b *testing.B) {
		b.SetBytes(benchBytes)
		b.ReportAllocs()
		for b.Loop() {
			write(b)
		}
	})
	b.Run("read", func(b *testing.B) {
		write(b)
		b.SetBytes(benchBytes)
		b.ReportAllocs()
		for b.Loop() {
			r, err := s.Open(b.Context(), stream, f)
			must(b, err)
			_, err = io.Copy(io.Discard, r)
			must(b, err)
			must(b, r.Close())
		}
	})
}

// BenchmarkCheckpoint is what a task without state pays: a manifest and the cleaner.
func BenchmarkCheckpoint(b *testing.B) {
	s, err := Open(b.TempDir())
	must(b, err)
	n := &node{store: s, stage: 1}
	b.ReportAllocs()
	for b.Loop() {
		n.told, n.contents = nil, nil
		_, err := storagetest.Checkpoint(s, 1, n.complete+1, nil)
		must(b, err)
		n.complete++
		must(b, s.Retain(b.Context(), stream, all(n.complete)))
	}
}
