package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is what this binary writes. It reads this one and the one before, once there is one.
const Version = 1

const magic = "PONDAGE-MANIFEST"

// MaxBytes is the largest manifest: the clocks of two million tables fit. A larger one is not written, and what claims to
// be larger is damaged.
const MaxBytes = 128 << 20

// Errors; use errors.Is.
var (
	// ErrDamaged says that the bytes are not those that were written.
	ErrDamaged = errors.New("the manifest is damaged")
	// ErrVersion says that a newer binary has written it.
	ErrVersion = errors.New("the manifest is of a version that this binary does not read")
	// ErrInvalid says that a manifest is not to be written as it is.
	ErrInvalid = errors.New("the manifest is not valid")
)

// Encode returns the manifest's bytes and its id. Errors: ErrInvalid, with what is wrong.
func (m *Manifest) Encode() (text []byte, id Hash, err error) {
	if err := m.Validate(); err != nil {
		return nil, Hash{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body) // ends with a line feed
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, Hash{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	text = append(head(Version, sha256.Sum256(body.Bytes())), body.Bytes()...)
	if len(text) > MaxBytes {
		return nil, Hash{}, fmt.Errorf("%w: %d bytes, more than %d", ErrInvalid, len(text), MaxBytes)
	}
	return text, sha256.Sum256(text), nil
}

// head is the first line.
func head(version int, sum Hash) []byte { return fmt.Appendf(nil, "%s %d %s\n", magic, version, sum) }

// Decode reads what Encode has written. Errors: ErrDamaged, ErrVersion, with what is wrong.
func Decode(text []byte) (*Manifest, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrDamaged, len(text), MaxBytes)
	}
	first, body, _ := bytes.Cut(text, []byte{'\n'})
	var version int
	if _, err := fmt.Sscanf(string(first), magic+" %d ", &version); err != nil {
		return nil, fmt.Errorf("%w: its first line is no manifest's", ErrDamaged)
	}
	// Of a newer version only the first words are known: whether it is damaged cannot be told.
	if version > Version {
		return nil, fmt.Errorf("%w: %d, this binary reads %d", ErrVersion, version, Version)
	}
	if !bytes.HasPrefix(text, head(Version, sha256.Sum256(body))) {
		return nil, fmt.Errorf("%w: its checksum does not fit", ErrDamaged)
	}
	// The checksum is right: what is wrong from here on was written so.
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something stands behind it", ErrDamaged)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return m, nil
}
