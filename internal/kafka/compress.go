package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a compression of record batches; the numbers are Kafka's.
type Codec int8

// The codecs that Kafka knows.
const (
	CodecNone Codec = iota
	CodecGzip
	CodecSnappy
	CodecLZ4
	CodecZstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String returns the name as Kafka spells it.
func (c Codec) String() string {
	if int(c) >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec(%d)", int8(c))
}

// maxUnpacked bounds a batch after decompression, bytes: a few kilobytes can be made to unpack to any size.
const maxUnpacked = 128 << 20

// keptUnpacked is how much memory an unpacker keeps between batches, bytes; one unusual batch must not pin its size.
const keptUnpacked = 4 << 20

var errTooLong = fmt.Errorf("more than %d bytes after decompression", maxUnpacked)

// unpacker decompresses batches into memory that it uses again.
type unpacker struct {
	buf  []byte
	gzip *gzip.Reader
	lz4  *lz4.Reader
	zstd *zstd.Decoder
}

// decompress returns the unpacked bytes, valid until the next call.
func (u *unpacker) decompress(codec Codec, src []byte) ([]byte, error) {
	if cap(u.buf) > keptUnpacked {
		u.buf = nil
	}
	var err error
	switch codec {
	case CodecGzip:
		u.buf, err = u.fromGzip(src)
	case CodecSnappy:
		u.buf, err = appendSnappy(u.buf[:0], src)
	case CodecLZ4:
		u.buf, err = u.fromLZ4(src)
	case CodecZstd:
		u.buf, err = u.fromZstd(src)
	default:
		return nil, errors.New("unknown codec")
	}
	return u.buf, err
}

func (u *unpacker) fromGzip(src []byte) ([]byte, error) {
	r := bytes.NewReader(src)
	if u.gzip == nil {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		u.gzip = z
	} else if err := u.gzip.Reset(r); err != nil {
		return nil, err
	}
	return appendAll(u.buf[:0], u.gzip)
}

func (u *unpacker) fromLZ4(src []byte) ([]byte, error) {
	if u.lz4 == nil {
		u.lz4 = lz4.NewReader(nil)
	}
	u.lz4.Reset(bytes.NewReader(src))
	return appendAll(u.buf[:0], u.lz4)
}

func (u *unpacker) fromZstd(src []byte) ([]byte, error) {
	if u.zstd == nil {
		// One goroutine, and no larger window than a batch may have.
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
		if err != nil {
			return nil, err
		}
		u.zstd = z
	}
	return u.zstd.DecodeAll(src, u.buf[:0])
}

// appendAll reads r to its end into dst.
func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	const step = 64 << 10 // bytes
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, make([]byte, max(step, len(dst)))...)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst) > maxUnpacked {
			return dst, errTooLong
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// xerialMagic begins the framing that Java producers put around snappy: magic, two versions, then blocks of a 4-byte
// length and snappy.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16 // bytes

func appendSnappy(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return appendSnappyBlock(dst, src)
	}
	if len(src) < xerialHeader {
		return dst, io.ErrUnexpectedEOF
	}
	for src = src[xerialHeader:]; len(src) > 0; {
		if len(src) < 4 {
			return dst, io.ErrUnexpectedEOF
		}
		n := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(n) > uint64(len(src)) {
			return dst, io.ErrUnexpectedEOF
		}
		var err error
		if dst, err = appendSnappyBlock(dst, src[:n]); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func appendSnappyBlock(dst, block []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return dst, err
	}
	if len(dst)+n > maxUnpacked {
		return dst, errTooLong
	}
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	_, err = s2.Decode(dst[at:], block)
	return dst, err
}

// compress appends src compressed by the codec to dst.
func compress(dst []byte, codec Codec, src []byte) ([]byte, error) {
	switch codec {
	case CodecGzip:
		return compressTo(dst, src, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	case CodecSnappy:
		return append(dst, snappy.Encode(nil, src)...), nil
	case CodecLZ4:
		return compressTo(dst, src, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
	case CodecZstd:
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return dst, err
		}
		return z.EncodeAll(src, dst), z.Close()
	}
	return dst, fmt.Errorf("cannot compress with %s", codec)
}

func compressTo(dst, src []byte, open func(io.Writer) io.WriteCloser) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	w := open(buf)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}
