package faultfs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"syscall"
)

// file is a file that is being written.
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
	if h.fs.room != noBound {
		n = min(n, h.fs.room)
		h.fs.room -= n
	}
	h.node.data = append(h.node.data, p[:n]...)
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
		h.node.poisoned = h.node.poisoned || !errors.Is(err, ErrKilled)
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

// newReader reads what the content is now.
func newReader(data []byte) io.ReadSeekCloser { return reader{bytes.NewReader(slices.Clone(data))} }

// Close implements io.Closer.
func (reader) Close() error { return nil }
