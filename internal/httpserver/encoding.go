package httpserver

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/pondage/pondage/internal/problem"
)

// maxZstdWindow bounds what a frame may make the decoder allocate.
const maxZstdWindow = 8 << 20

// decoded undoes a Content-Encoding. Every error of the returned reader but io.EOF is one for the client.
func decoded(body io.ReadCloser, encoding string) (io.ReadCloser, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return &clientErrors{ReadCloser: body}, nil
	case "gzip":
		return &clientErrors{ReadCloser: &gzipBody{wire: body}}, nil
	case "zstd":
		dec, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, unreadable(err)
		}
		return &clientErrors{ReadCloser: &zstdBody{dec: dec, wire: body}}, nil
	}
	return nil, problem.New(problem.CodeUnsupportedContentEncoding, "Content-Encoding %q: want identity, gzip or zstd", encoding)
}

// gzipBody reads the header with the first Read, so that an empty body costs nothing and its error comes where errors
// of reading are expected.
type gzipBody struct {
	wire io.ReadCloser
	gz   *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (int, error) {
	if b.gz == nil {
		gz, err := gzip.NewReader(b.wire)
		if err != nil {
			return 0, err
		}
		b.gz = gz
	}
	return b.gz.Read(p)
}

func (b *gzipBody) Close() error { return b.wire.Close() }

type zstdBody struct {
	dec  *zstd.Decoder
	wire io.ReadCloser
}

func (b *zstdBody) Read(p []byte) (int, error) { return b.dec.Read(p) }

func (b *zstdBody) Close() error {
	b.dec.Close()
	return b.wire.Close()
}

// clientErrors names the errors of reading a body.
type clientErrors struct{ io.ReadCloser }

func (b *clientErrors) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var known *problem.Error
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &known) {
		return n, err
	}
	return n, unreadable(err)
}

func unreadable(err error) error {
	return problem.Wrap(err, problem.CodeBodyUnreadable, "the body cannot be read to its end: %v", err)
}

// limitedBody fails with body_too_large once more than the limit was read.
type limitedBody struct {
	io.ReadCloser
	limit, left int64
}

func limited(body io.ReadCloser, limit int64) io.ReadCloser {
	return &limitedBody{ReadCloser: body, limit: limit, left: limit}
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	// One byte more than allowed tells a body of exactly the limit from a longer one.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, tooLarge(b.limit)
	}
	return n, err
}
