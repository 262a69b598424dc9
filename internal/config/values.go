package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text forms are 4194304, 4MiB, 1GiB, 64KiB.
type Size int64

// The units of sizes.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	suffix string
	unit   Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}

// String returns the shortest exact form.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.unit == 0 {
			return strconv.FormatInt(int64(s/u.unit), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := string(text), Size(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = rest, u.unit
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(unit) {
		return fmt.Errorf("size %q: want bytes, or a number with KiB, MiB or GiB", text)
	}
	*s = Size(n) * unit
	return nil
}

// Secret says where a secret is. In a file it is {from: env|file, name: …}; as a flag or variable it is env:NAME or
// file:PATH. The secret itself is never in the configuration, so the configuration may be printed.
type Secret struct {
	From SecretFrom
	Name string
}

// SecretFrom is a place of secrets.
type SecretFrom string

// The places.
const (
	SecretEnv  SecretFrom = "env"
	SecretFile SecretFrom = "file"
)

// Set tells whether there is a reference.
func (s Secret) Set() bool { return s.From != "" }

// String returns env:NAME or file:PATH.
func (s Secret) String() string {
	if !s.Set() {
		return ""
	}
	return string(s.From) + ":" + s.Name
}

// UnmarshalText reads env:NAME or file:PATH. The error does not repeat the text: it may be a secret.
func (s *Secret) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Secret{}
		return nil
	}
	from, name, ok := strings.Cut(string(text), ":")
	if !ok || name == "" || (SecretFrom(from) != SecretEnv && SecretFrom(from) != SecretFile) {
		return fmt.Errorf("want env:NAME or file:PATH, never the secret itself")
	}
	*s = Secret{From: SecretFrom(from), Name: name}
	return nil
}

// Resolve reads the secret; "" when there is no reference. White space around a file's content is not part of it.
func (s Secret) Resolve() (string, error) {
	switch s.From {
	case SecretEnv:
		v, ok := os.LookupEnv(s.Name)
		if !ok || v == "" {
			return "", fmt.Errorf("secret %s: the variable is not set", s)
		}
		return v, nil
	case SecretFile:
		v, err := os.ReadFile(s.Name)
		if err != nil {
			return "", fmt.Errorf("secret %s: %w", s, err)
		}
		text := strings.TrimSpace(string(v))
		if text == "" {
			return "", fmt.Errorf("secret %s: the file is empty", s)
		}
		return text, nil
	}
	return "", nil
}

// SharedSecret reads the secret that all processes of the cluster share; nil when there is none.
func (s Security) SharedSecret() ([]byte, error) {
	if !s.ClusterSecret.Set() {
		return nil, nil
	}
	text, err := s.ClusterSecret.Resolve()
	if err != nil {
		return nil, fmt.Errorf("security.cluster_secret: %w", err)
	}
	return []byte(text), nil
}
