package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	*h = parsed
	return err
}

// ParseHash is the inverse of String. It takes lower case only: a hash is a file's name, too.
func ParseHash(text string) (h Hash, err error) {
	if n, err := hex.Decode(h[:], []byte(text)); err != nil || n != len(h) || h.String() != text {
		return Hash{}, fmt.Errorf("%q is no SHA-256 in hexadecimal", text)
	}
	return h, nil
}
