// Package httpapi answers the snapshotter's operations.
//
// It owns: the generated strict interface's implementation. It does not own: health, metrics and documents
// (internal/httpserver).
package httpapi
